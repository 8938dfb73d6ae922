package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func (p *program) acts() *cobra.Command {
	var form output
	c := &cobra.Command{
		Use:   "acts",
		Short: "list what the agent has done, and what came of it, oldest first",
		Args:  cobra.NoArgs,
	}
	form.add(c)
	c.RunE = does(func(c *cobra.Command, _ []string) error {
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		acts, readErr := journal.Read(cfg.Directories.State)
		if acts == nil && readErr != nil {
			return asRoot(readErr)
		}
		if acts == nil {
			acts = []restartpolicy.Act{}
		}
		if written, err := form.data(p.out, acts); err != nil {
			return err
		} else if !written {
			if err := p.actTable(form, acts); err != nil {
				return err
			}
		}
		return readErr
	})
	return c
}

func (p *program) actTable(form output, acts []restartpolicy.Act) error {
	if len(acts) == 0 {
		_, err := fmt.Fprintln(p.out, "no acts")
		return err
	}
	layout, limit := "01-02 15:04:05", width
	columns := []column{rigid("ID"), rigid("WHEN (UTC)"), rigid("STEP"), podColumn(15), elastic("CONTAINER", 12),
		rigid("VERDICT"), rigid("RESULT")}
	if form == asWide {
		layout, limit = "2006-01-02 15:04:05", 0
		columns = append(columns, rigid("DETAIL"), rigid("REASON"), rigid("EVIDENCE"))
	}
	var rows [][]string
	for _, a := range acts {
		pod, container := names(form, a.Key.Namespace, a.Key.Name, a.Key.Container)
		row := []string{a.ID, a.Began.Wall.UTC().Format(layout), string(a.Kind), pod, container,
			dash(string(a.State)), string(a.Result)}
		if form == asWide {
			row = append(row, dash(a.Detail), dash(a.Reason), dash(a.Evidence))
		}
		rows = append(rows, row)
	}
	return writeTable(p.out, limit, columns, rows)
}

// names are the columns POD and CONTAINER: what belongs to no pod belongs to
// the node. The namespace of a static pod says little that its name does not,
// so that only the wide form has it.
func names(form output, namespace, pod, container string) (string, string) {
	if pod == "" {
		return "(node)", dash(container)
	}
	if form == asWide {
		pod = namespace + "/" + pod
	}
	return pod, dash(container)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
