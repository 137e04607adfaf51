// Kueue's own controllers and scheduler, without its integrations and webhooks, which need certificates in the cluster.
// With a namespace as its argument it also manages clusters of MultiKueue, whose kubeconfigs are in that namespace.
package main

import (
	"context"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/admissionchecks/multikueue"
	"sigs.k8s.io/kueue/pkg/controller/admissionchecks/multikueue/externalframeworks"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		ctrl.Log.Error(err, "Kueue ended")
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kueue.AddToScheme(scheme))
	utilruntime.Must(config.AddToScheme(scheme))
	ctx := ctrl.SetupSignalHandler()
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := indexer.Setup(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	settings := &config.Configuration{}
	scheme.Default(settings)
	preemptions := expectations.New()
	cache := schdcache.New(mgr.GetClient())
	requeuer := qcache.NewRequeuer()
	if err := mgr.Add(requeuer); err != nil {
		return err
	}
	queues := qcache.NewManager(mgr.GetClient(), cache, requeuer, qcache.WithPreemptionExpectations(preemptions))
	if _, err := core.SetupControllers(mgr, queues, cache, settings, nil, preemptions, nil); err != nil {
		return err
	}
	if len(os.Args) > 1 {
		if err := manageWorkers(ctx, mgr, os.Args[1]); err != nil {
			return err
		}
	}
	go queues.CleanUpOnContext(ctx)
	go cache.CleanUpOnContext(ctx)
	events := mgr.GetEventRecorderFor(constants.AdmissionName)
	if err := mgr.Add(scheduler.New(queues, cache, mgr.GetClient(), events,
		scheduler.WithPreemptionExpectations(preemptions))); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// As Kueue does for `multiKueue.externalFrameworks` of its configuration.
func manageWorkers(ctx context.Context, mgr ctrl.Manager, namespace string) error {
	if err := multikueue.SetupIndexer(ctx, mgr.GetFieldIndexer(), namespace); err != nil {
		return err
	}
	frameworks := []config.MultiKueueExternalFramework{{Name: "ProbeBatch.v1alpha1.probeyard.dev"}}
	found, err := externalframeworks.NewAdapters(frameworks)
	if err != nil {
		return err
	}
	adapters := map[string]jobframework.MultiKueueAdapter{}
	for _, adapter := range found {
		adapters[adapter.GVK().String()] = adapter
	}
	return multikueue.SetupControllers(mgr, namespace, multikueue.WithAdapters(adapters))
}
