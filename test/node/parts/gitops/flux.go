package main

import (
	"context"
	"slices"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/hook"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Hooks are no part of what a HelmRelease keeps.
func withoutHooks(wanted []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(wanted, hook.IsHook)
}

// As kustomize-controller applies.
func fluxSync(
	ctx context.Context, c client.Client, _ *rest.Config, wanted []*unstructured.Unstructured, _ string,
) ([]line, error) {
	poller := polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{})
	resources := ssa.NewResourceManager(c, poller, ssa.Owner{Field: manager, Group: "kustomize.toolkit.fluxcd.io"})
	changes, err := resources.ApplyAllStaged(ctx, withoutHooks(wanted), ssa.DefaultApplyOptions())
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, one := range changes.Entries {
		lines = append(lines, line{Object: one.Subject, Change: one.Action.String()})
	}
	return lines, nil
}

// As helm-controller looks for drift.
func fluxDiff(
	ctx context.Context, c client.Client, _ *rest.Config, wanted []*unstructured.Unstructured, _ string,
) ([]line, error) {
	found, err := jsondiff.UnstructuredList(ctx, c, withoutHooks(wanted),
		jsondiff.FieldOwner(manager), jsondiff.MaskSecrets(true), jsondiff.Rationalize(true))
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, one := range found {
		if one.Type == jsondiff.DiffTypeNone || one.Type == jsondiff.DiffTypeExclude {
			continue
		}
		obj := one.DesiredObject.(*unstructured.Unstructured)
		change := any(one.Patch)
		if one.Type == jsondiff.DiffTypeCreate {
			change = "missing"
		}
		lines = append(lines, line{Object: nameOf(obj), Change: change})
	}
	return lines, nil
}
