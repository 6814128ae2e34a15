package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"rsmsjob/internal/config"
	"rsmsjob/internal/engine"
	"rsmsjob/internal/message"
	"rsmsjob/internal/river"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [message|scenario|engine]",
		Short:     "print the JSON Schema of the message, of the scenario and of engine.json",
		Long:      "schema prints one JSON document with the schemas of all three, or the one that is named.",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"message", "scenario", "engine"},
		RunE: func(_ *cobra.Command, args []string) error {
			schemas := map[string]json.RawMessage{"message": message.Schema(), "scenario": river.ScenarioSchema(), "engine": engine.Schema()}
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
				return a.printJSON(map[string]any{"version": version, "commit": commit, "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH, "engines": engines.Name, "engines_sha256": engines.Hash,
					"engine_files_sha256": engines.Files})
			}
			text := fmt.Sprintf("rsms-job %s\ncommit   %s\ngo       %s %s/%s\nengines  %s, sha256 %s\n",
				version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, engines.Name, engines.Hash)
			if engines.Foreign {
				for _, name := range slices.Sorted(maps.Keys(engines.Files)) {
					text += fmt.Sprintf("         %s, sha256 %s\n", name, engines.Files[name])
				}
			}
			_, err = fmt.Fprint(a.stdout, text)
			return err
		},
	}
	settings(c.Flags())
	c.Flags().Bool("json", false, "print one JSON document")
	return c
}
