// Does what a GitOps engine does with rendered manifests: applies them, or says how the cluster differs from them.
//
//	gitops argo|flux sync|diff NAMESPACE < manifests
//
// Each line of the output is a JSON object. The libraries are those of Argo CD and of Flux.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/hook"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The fields are applied in the name of Helm, with the annotations that it adds to all but hooks: so the release stays
// one that Helm can upgrade.
const (
	manager = "helm"
	release = "probeyard"
)

type line struct {
	Object string `json:"object"`
	// By which comparison, of those that the engine offers.
	By string `json:"by,omitempty"`
	// What was done, or is to be done: a word of the engine, or a patch.
	Change any    `json:"change,omitempty"`
	Health string `json:"health,omitempty"`
}

type act func(
	ctx context.Context, c client.Client, config *rest.Config, wanted []*unstructured.Unstructured, namespace string,
) ([]line, error)

var acts = map[string]act{"argo sync": argoSync, "argo diff": argoDiff, "flux sync": fluxSync, "flux diff": fluxDiff}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 || acts[args[0]+" "+args[1]] == nil {
		return fmt.Errorf("usage: gitops argo|flux sync|diff NAMESPACE < manifests")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	wanted, err := kube.SplitYAML(text)
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	for _, obj := range wanted {
		if err := complete(c, obj, args[2]); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	lines, err := acts[args[0]+" "+args[1]](ctx, c, config, wanted, args[2])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, one := range lines {
		if err := out.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// A chart leaves the namespace of the release to whoever applies it.
func complete(c client.Client, obj *unstructured.Unstructured, namespace string) error {
	namespaced, err := c.IsObjectNamespaced(obj)
	if err != nil {
		return err
	}
	if namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	if !hook.IsHook(obj) {
		annotate(obj, map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace})
	}
	return nil
}

func annotate(obj *unstructured.Unstructured, more map[string]string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, more)
	obj.SetAnnotations(annotations)
}

func nameOf(obj *unstructured.Unstructured) string {
	key := kube.GetResourceKey(obj)
	return key.String()
}
