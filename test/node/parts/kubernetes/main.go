// The daemons of Kubernetes as one program: linked once, and in memory once. It is the daemon whose name it is called
// by.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // time zones of CronJobs

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var daemons = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 kubeletCommand,
	"kube-proxy":              proxy.NewProxyCommand,
}

// Its command takes a context from 1.34 on.
func kubeletCommand() *cobra.Command {
	if make, older := any(kubelet.NewKubeletCommand).(func() *cobra.Command); older {
		return make()
	}
	return any(kubelet.NewKubeletCommand).(func(context.Context) *cobra.Command)(context.Background())
}

func main() {
	name := filepath.Base(os.Args[0])
	command, known := daemons[name]
	if !known {
		fmt.Fprintf(os.Stderr, "there is no daemon %s: call this program by the name of one\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
