// What Argo Workflows says of a WorkflowTemplate (`lint`, by its own validation), and of the conditions of a step that
// makes an object (`conditions SUCCESS FAILURE`, by the libraries of its executor). Both read from stdin.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/argo-workflows/v4/pkg/apis/workflow/v1alpha1"
	"github.com/argoproj/argo-workflows/v4/util/logging"
	"github.com/argoproj/argo-workflows/v4/workflow/common"
	"github.com/argoproj/argo-workflows/v4/workflow/validate"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	input, err := io.ReadAll(os.Stdin)
	switch {
	case err != nil:
		return err
	case len(os.Args) == 2 && os.Args[1] == "lint":
		return lint(logging.WithLogger(context.Background(), logging.InitLogger()), input)
	case len(os.Args) == 4 && os.Args[1] == "conditions":
		return conditions(input, os.Args[2], os.Args[3])
	}
	return fmt.Errorf("usage: argo lint | argo conditions SUCCESS FAILURE")
}

func lint(ctx context.Context, input []byte) error {
	count := 0
	for _, parsed := range common.ParseObjects(ctx, input, true) {
		if parsed.Err != nil {
			return parsed.Err
		}
		template, ok := parsed.Object.(*v1alpha1.WorkflowTemplate)
		if !ok {
			return fmt.Errorf("not a WorkflowTemplate: %T", parsed.Object)
		}
		err := validate.ValidateWorkflowTemplate(ctx, nil, nil, template, nil, validate.ValidateOpts{Lint: true})
		if err != nil {
			return err
		}
		count++
	}
	fmt.Println(count, "valid")
	return nil
}

type fields []byte

func (f fields) Has(path string) bool              { return gjson.GetBytes(f, path).Exists() }
func (f fields) Get(path string) string            { return gjson.GetBytes(f, path).String() }
func (f fields) Lookup(path string) (string, bool) { return f.Get(path), f.Has(path) }

// One failure condition is enough, and all success conditions are needed.
func conditions(object []byte, success, failure string) error {
	succeeded, err := labels.ParseToRequirements(success)
	if err != nil {
		return err
	}
	failed, err := labels.ParseToRequirements(failure)
	if err != nil {
		return err
	}
	for _, one := range failed {
		if one.Matches(fields(object)) {
			fmt.Println("failed")
			return nil
		}
	}
	for _, one := range succeeded {
		if !one.Matches(fields(object)) {
			fmt.Println("waiting")
			return nil
		}
	}
	fmt.Println("succeeded")
	return nil
}
