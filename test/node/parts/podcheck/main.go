// podcheck is what the node's own tests run inside a pod: it waits, prints, looks names up and fetches addresses.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: podcheck wait | say TEXT... | lookup NAME | get URL | uidmap")
	}
	switch args := os.Args[2:]; os.Args[1] {
	case "wait":
		fmt.Println(strings.Join(append([]string{"waiting"}, args...), " "))
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		<-ctx.Done()
	case "say":
		fmt.Println(strings.Join(args, " "))
	case "lookup":
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		addresses, err := net.DefaultResolver.LookupHost(ctx, args[0])
		check(err)
		fmt.Println(strings.Join(addresses, " "))
	case "get":
		client := http.Client{Timeout: 10 * time.Second}
		response, err := client.Get(args[0])
		check(err)
		defer response.Body.Close()
		fmt.Println(response.Status)
		_, err = io.Copy(os.Stdout, response.Body)
		check(err)
	case "uidmap":
		text, err := os.ReadFile("/proc/self/uid_map")
		check(err)
		fmt.Print(string(text))
	default:
		fail("unknown command " + os.Args[1])
	}
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}
