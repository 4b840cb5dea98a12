package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/connect"
	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/script"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the work failed
	exitUsage  = 2 // wrong arguments, or no usable configuration: nothing was started
)

const usage = `rlmproxy keeps long MCP tool results out of an agent's context.

A result over the limit stays in the proxy; the agent gets a preview and a
cache_id, and looks into it with proxy_explore, proxy_filter and proxy_search.

  $ rlmproxy demo
  $ rlmproxy connect claude-desktop   # or claude-code, cursor, vscode, …
  $ rlmproxy tools -- npx -y @modelcontextprotocol/server-filesystem .
  $ claude mcp add files -- rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem .

Started by a host, without arguments, it serves the servers of mcp.json, found in
$RLMPROXY_CONFIG, ./mcp.json or the user's configuration folder.`

// forwarded is how soon after a signal the same one may come once more: a terminal and a
// shell, or npx, both send it on.
const forwarded = 100 * time.Millisecond

// An usageError is one that the caller's command line or file can repair.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string  { return e.err.Error() }
func (e *usageError) Unwrap() error  { return e.err }
func (e *usageError) Repair() string { return e.hint }

// A cli holds what the commands share.
type cli struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	log            *terminal.Log // to stderr
	level          slog.LevelVar
	configPath     string
	hangups        hangups
}

// run is the program. Under a host stdout belongs to the protocol: what people
// read goes to stderr. The first signal ends it in order: no call is taken any more, those
// that run get their answers, servers end, logs are written. The second ends it at once;
// what servers have started is ended by their supervisors.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	// Whoever reads our stdout or stderr may close it. Then a write fails, which we
	// handle. The signal that comes with it would end us, and leave servers running.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	c := &cli{args: args, stdin: stdin, stdout: stdout, stderr: stderr, log: terminal.NewLog(stderr)}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, ends...)
	defer signal.Stop(signals)
	over := make(chan struct{})
	defer close(over)
	go func() {
		var first time.Time // when the end was asked for
		for {
			select {
			case s := <-signals:
				switch {
				case s == syscall.SIGHUP && c.hangups.ask():
				case first.IsZero():
					first = time.Now()
					stop()
				case time.Since(first) > forwarded: // now
					os.Exit(exitFailed)
				}
			case <-over:
				return
			}
		}
	}()
	root := c.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	c.log.Close()
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	var failed *failedCall
	var write *fs.PathError
	if errors.As(err, &failed) || errors.As(err, &write) && write.Path == os.Stdout.Name() && errors.Is(err, syscall.EPIPE) {
		return exitFailed // it was printed, or nobody reads
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	for i, line := range strings.Split(strings.TrimRight(err.Error(), "\n"), "\n") {
		if i == 0 {
			line = "rlmproxy: error: " + line
		}
		fmt.Fprintln(stderr, terminal.Visible(line)) // it may quote a server
	}
	var bad interface { // a usageError, or as one of another package
		error
		Repair() string
	}
	if !errors.As(err, &bad) {
		return exitFailed
	}
	if hint := bad.Repair(); hint != "" {
		fmt.Fprintln(stderr, "rlmproxy: hint:", hint)
	}
	return exitUsage
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "rlmproxy",
		Short:         "Keep long MCP tool results out of an agent's context",
		Long:          usage,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.Is(c.stdin) {
				return cmd.Help()
			}
			return c.serve(cmd)
		},
	}
	root.SetVersionTemplate("rlmproxy {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{err, cmd.CommandPath() + " --help lists the flags"}
	})
	c.settings(root)
	groupFlags(root)
	root.AddCommand(settingsTopic(), c.manCommand(), c.serveCommand(), c.wrapCommand(), c.demoCommand(), c.doctorCommand(), c.toolsCommand(), c.callCommand(), c.statsCommand(), c.topCommand(), c.uiCommand(), c.trustCommand(), c.authCommand(), c.secretCommand(), c.addCommand(), c.configCommand(), c.versionCommand(), c.workerCommand("jq", jq.Worker), c.workerCommand("script", script.Worker))
	clients := connect.Commands{Stdout: c.stdout, Progress: c.log.Progress}
	root.AddCommand(clients.All()...)
	return root
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(c.stdout, "rlmproxy", version())
			return err
		},
	}
}

// workerCommand is what a [worker.Pool] of this role starts.
func (c *cli) workerCommand(role string, work func(io.Reader, io.Writer) int) *cobra.Command {
	return &cobra.Command{
		Use:    role + "-worker",
		Short:  "Run programs of agents for a proxy, which starts this command itself",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			os.Exit(work(c.stdin, c.stdout))
			return nil
		},
	}
}

// version comes from the build, never from a constant.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "dev"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v += "-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

// family is a command that only has others below it.
func family(cmd *cobra.Command) *cobra.Command {
	cmd.Args = noCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("no command %q", args[0]), cmd.CommandPath() + " --help lists the commands"}
	}
	return nil
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("%s takes no argument %q", cmd.Name(), args[0]), cmd.CommandPath() + " --help"}
	}
	return nil
}
