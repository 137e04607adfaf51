package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// As Argo CD has it by default: an object is the application's if this says so and names the object itself.
const tracking = "argocd.argoproj.io/tracking-id"

func trackingOf(key kube.ResourceKey, namespace string) string {
	if key.Namespace != "" {
		namespace = key.Namespace
	}
	return fmt.Sprintf("probeyard:%s/%s:%s/%s", key.Group, key.Kind, namespace, key.Name)
}

// Status is compared by no installation of Argo CD that has its defaults.
type withoutStatus struct{}

func (withoutStatus) Normalize(obj *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(obj.Object, "status")
	return nil
}

func track(wanted []*unstructured.Unstructured, namespace string) {
	for _, obj := range wanted {
		annotate(obj, map[string]string{tracking: trackingOf(kube.GetResourceKey(obj), namespace)})
	}
}

func argoCache(config *rest.Config) cache.ClusterCache {
	return cache.NewClusterCache(config, cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(obj *unstructured.Unstructured, _ bool) (any, bool) {
			id := obj.GetAnnotations()[tracking]
			return id, id != ""
		}))
}

func isTracked(namespace string) func(*cache.Resource) bool {
	return func(r *cache.Resource) bool { return r.Info == trackingOf(r.ResourceKey(), namespace) }
}

// As an Application with `prune: true` and `ServerSideApply=true`. Each step looks at the cluster anew, as the
// application controller does: the engine's own loop does not see hooks end.
func argoSync(
	ctx context.Context, _ client.Client, config *rest.Config, wanted []*unstructured.Unstructured, namespace string,
) ([]line, error) {
	track(wanted, namespace)
	known := argoCache(config)
	if err := known.EnsureSynced(); err != nil {
		return nil, err
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	phase, message, began := common.OperationRunning, "", metav1.Now()
	var results []common.ResourceSyncResult
	for !phase.Completed() {
		managed, err := known.GetManagedLiveObjs(wanted, isTracked(namespace))
		if err != nil {
			return nil, err
		}
		step, end, err := sync.NewSyncContext("now", sync.Reconcile(wanted, managed, namespace, known), config, config,
			kubectl, namespace, sync.WithPrune(true), sync.WithServerSideApply(true),
			sync.WithServerSideApplyManager(manager), sync.WithLogr(logr.Discard()),
			sync.WithInitialState(phase, message, results, began))
		if err != nil {
			return nil, err
		}
		step.Sync()
		phase, message, results = step.GetState()
		end()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %s: %w", phase, message, ctx.Err())
		case <-time.After(500 * time.Millisecond):
		}
	}
	if phase != common.OperationSucceeded {
		return nil, fmt.Errorf("%s: %s", phase, message)
	}
	var lines []line
	for _, one := range results {
		change := string(one.Status)
		if change == "" {
			change = string(one.HookPhase)
		}
		change += ": " + one.Message
		lines = append(lines, line{Object: one.ResourceKey.String(), By: string(one.HookType), Change: change})
	}
	return lines, nil
}

func argoDiff(
	_ context.Context, _ client.Client, config *rest.Config, wanted []*unstructured.Unstructured, namespace string,
) ([]line, error) {
	track(wanted, namespace)
	known := argoCache(config)
	if err := known.EnsureSynced(); err != nil {
		return nil, err
	}
	managed, err := known.GetManagedLiveObjs(wanted, isTracked(namespace))
	if err != nil {
		return nil, err
	}
	both := sync.Reconcile(wanted, managed, namespace, known)
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	applier, stop, err := kubectl.ManageServerSideDiffDryRuns(config)
	if err != nil {
		return nil, err
	}
	defer stop()
	lines := unhealthy(both.Live)
	for by, more := range map[string][]diff.Option{
		"three-way": nil,
		"server-side": {
			diff.WithServerSideDiff(true), diff.WithManager(manager), diff.WithGVKParser(known.GetGVKParser()),
			diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)),
		},
	} {
		found, err := diff.DiffArray(both.Target, both.Live,
			append(more, diff.WithNormalizer(withoutStatus{}), diff.WithLogr(logr.Discard()))...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", by, err)
		}
		for i, one := range found.Diffs {
			if !one.Modified {
				continue
			}
			obj := both.Target[i]
			if obj == nil {
				obj = both.Live[i]
			}
			lines = append(lines, line{Object: nameOf(obj), By: by, Change: patchOf(obj.GetKind(), one)})
		}
	}
	return lines, nil
}

func patchOf(kind string, one diff.DiffResult) any {
	if kind == "Secret" {
		return "its data are not shown"
	}
	patch, err := jsonpatch.CreateMergePatch(one.NormalizedLive, one.PredictedLive)
	if err != nil {
		return err.Error()
	}
	return json.RawMessage(patch)
}

func unhealthy(live []*unstructured.Unstructured) (lines []line) {
	for _, obj := range live {
		if obj == nil {
			continue
		}
		if state, err := health.GetResourceHealth(obj, nil); err == nil && state != nil &&
			state.Status != health.HealthStatusHealthy {
			lines = append(lines, line{Object: nameOf(obj), Health: string(state.Status) + ": " + state.Message})
		}
	}
	return lines
}
