package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/message"
	"rsmsjob/internal/river"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [message|scenario]",
		Short:     "print the JSON Schema of the message and of the scenario",
		Long:      "schema prints one JSON document with the schemas of both, or the one that is named.",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"message", "scenario"},
		RunE: func(_ *cobra.Command, args []string) error {
			schemas := map[string]json.RawMessage{"message": message.Schema(), "scenario": river.ScenarioSchema()}
			if len(args) == 1 {
				return a.printJSON(schemas[args[0]])
			}
			return a.printJSON(schemas)
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "print version, commit, Go version and engine hashes",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.configure(c, config.Need{}); err != nil {
				return err
			}
			asJSON, err := c.Flags().GetBool("json")
			if err != nil {
				return err
			}
			self, err := selfPath()
			if err != nil {
				return err
			}
			engines, err := a.engines(self)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(map[string]string{"version": version, "commit": commit, "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH, "engines": engines.Name, "engines_sha256": engines.Hash})
			}
			_, err = fmt.Fprintf(a.stdout, "rsms-job %s\ncommit   %s\ngo       %s %s/%s\nengines  %s, sha256 %s\n",
				version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, engines.Name, engines.Hash)
			return err
		},
	}
	settings(c.Flags())
	c.Flags().Bool("json", false, "print one JSON document")
	return c
}
