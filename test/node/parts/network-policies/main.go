// Enforces NetworkPolicies: decides on the first packet of each connection that iptables hands to it by NFQUEUE.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

// A table of this name is refused. The module's own rules would outlive the process, need nft_queue in the kernel, and
// leave out what pods send to the node itself, where the API server is.
var noTable = strings.Repeat("x", 300)

// brief shortens the module's complaints about that table: some hundred lines for each pod that starts.
type brief struct{}

func (brief) Filter(args []interface{}) []interface{} { return args }

func (brief) FilterF(format string, args []interface{}) (string, []interface{}) { return format, args }

func (brief) FilterS(message string, values []interface{}) (string, []interface{}) {
	for i, value := range values {
		if err, ok := value.(error); ok && errors.Is(err, unix.ERANGE) {
			values[i] = "no table, as wanted"
		}
	}
	return message, values
}

func main() {
	klog.SetLogFilter(brief{})
	kubeconfig := flag.String("kubeconfig", "", "file with the access to the API server")
	node := flag.String("node", "", "name of the node")
	queue := flag.Int("queue", 100, "number of the netfilter queue")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	exitOn(err)
	client, err := kubernetes.NewForConfig(config)
	exitOn(err)
	known := informers.NewSharedInformerFactory(client, 0)
	// The node's containerd has no NRI, and that of another runtime is not asked. With NRIdisabled an address that no pod
	// has ends the process (v0.8.0).
	exitOn(os.Setenv("NRI_PLUGIN_SOCKET", "none"))
	controller, err := networkpolicy.NewController(
		client, known.Networking().V1().NetworkPolicies(), known.Core().V1().Namespaces(), known.Core().V1().Pods(),
		nil, nil, nil, nil,
		networkpolicy.Config{QueueID: *queue, NodeName: *node, NFTableName: noTable},
	)
	exitOn(err)
	known.Start(ctx.Done())
	exitOn(controller.Run(ctx))
}

func exitOn(err error) {
	if err != nil {
		klog.Error(err)
		os.Exit(1)
	}
}
