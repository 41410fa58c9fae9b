package kubectl

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// outputFlag adds -o to a command whose output is data.
func outputFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", "", "print as `format`: json or yaml")
	complete(cmd, "output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput refuses other formats than there are, before anything is asked.
func checkOutput(format string) error {
	switch format {
	case "", "json", "yaml":
		return nil
	}
	return fmt.Errorf("--output must be json or yaml, not %q", format)
}

// print writes data in a format.
func print(out io.Writer, format string, data any) error {
	var text []byte
	var err error
	if format == "json" {
		text, err = json.MarshalIndent(data, "", "  ")
		text = append(text, '\n')
	} else {
		text, err = yaml.Marshal(data)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func isTerminal(file *os.File) bool {
	return term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// size of a terminal in columns and lines.
func size(terminal *os.File) (width, height int) {
	width, height, err := term.GetSize(int(terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}
