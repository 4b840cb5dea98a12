package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Postgres is a store in PostgreSQL, which replicas and other proxies share.
type Postgres struct {
	pool   *pgxpool.Pool
	where  string // without secrets
	logger *slog.Logger
}

var _ Store = (*Postgres)(nil)

const (
	// within bounds each thing that is done, answerTime what the database itself takes for it.
	within     = 6 * time.Second
	answerTime = "5s"
	// listenTime is after how long without word from the database all is read again: something
	// between may have forgotten us, or somebody may have changed a row without a word.
	listenTime = 30 * time.Second
	// settleTime is how long further changes are waited for, to be told of at once.
	settleTime = 50 * time.Millisecond
	firstRetry = 250 * time.Millisecond
	lastRetry  = 5 * time.Second

	// channel is what changes are told on; the number is a lock that whoever changes anything
	// takes, any one that nobody else is likely to use.
	channel    = "rlmproxy_tools"
	changeLock = 0x726c6d70_746f6f6c
)

// schema is made at the first start. Later versions may add columns.
const schema = `
CREATE TABLE rlmproxy_tools (name text PRIMARY KEY, revision bigint NOT NULL, tool json NOT NULL);
CREATE SEQUENCE rlmproxy_tools_revision`

// OpenPostgres opens a store, as in postgres://user:password@host/database. It connects to nothing
// yet: a database that is away is one that may come. What the URL does not say, the variables of
// libpq do. A nil logger logs nothing.
func OpenPostgres(url string, logger *slog.Logger) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("it is not the URL of a PostgreSQL database, such as postgres://user:password@host/database") // theirs may show it
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	config.MaxConns = 4
	config.ConnConfig.ConnectTimeout = within
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "rlmproxy"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("PostgreSQL at %s:%d, database %q", config.ConnConfig.Host, config.ConnConfig.Port, config.ConnConfig.Database)
	return &Postgres{pool, where, logger}, nil
}

// Close implements [Store].
func (p *Postgres) Close() { p.pool.Close() }

// Where is the database, without secrets.
func (p *Postgres) Where() string { return p.where }

// Ping connects and asks for nothing: no table is made. Its error is an [AwayError].
func (p *Postgres) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return p.ours(p.pool.Ping(ctx))
}

// List implements [Store].
func (p *Postgres) List(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	var bad []error
	err := p.do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tools, bad = nil, nil
		rows, err := tx.Query(ctx, `SELECT left(name, 100), revision, CASE WHEN octet_length(tool::text) <= $1 THEN tool::text END
			FROM rlmproxy_tools ORDER BY name LIMIT $2`, maxTool, 2*MaxTools)
		if err != nil {
			return err
		}
		var name string
		var revision int64
		var data *string
		_, err = pgx.ForEachRow(rows, []any{&name, &revision, &data}, func() error {
			if data == nil {
				bad = append(bad, fmt.Errorf("tool %.80q: larger than %d bytes", name, maxTool))
				return nil
			}
			t, err := read(name, []byte(*data))
			if err == nil && t.Revision != revision {
				err = fmt.Errorf("tool %.80q: it has another revision inside", name)
			}
			if err != nil {
				bad = append(bad, err)
				return nil
			}
			tools = append(tools, t)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return listed(tools, bad)
}

// Put implements [Store].
func (p *Postgres) Put(ctx context.Context, t Tool, revision int64) (Tool, error) {
	err := p.change(ctx, t.Name, revision, func(ctx context.Context, tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT nextval('rlmproxy_tools_revision')`).Scan(&t.Revision); err != nil {
			return err
		}
		data, err := json.Marshal(t)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO rlmproxy_tools (name, revision, tool) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, tool = excluded.tool`, t.Name, t.Revision, string(data))
		return err
	})
	return t, err
}

// Delete implements [Store].
func (p *Postgres) Delete(ctx context.Context, name string, revision int64) error {
	return p.change(ctx, name, revision, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM rlmproxy_tools WHERE name = $1`, name)
		return err
	})
}

// change makes a change of a revision of a tool, one after the other, and tells of it.
func (p *Postgres) change(ctx context.Context, name string, revision int64, make func(ctx context.Context, tx pgx.Tx) error) error {
	return p.do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(changeLock)); err != nil {
			return err
		}
		var last int64
		var tools int
		err := tx.QueryRow(ctx, `SELECT coalesce(max(revision) FILTER (WHERE name = $1), 0), count(*) FROM rlmproxy_tools`, name).Scan(&last, &tools)
		if err == nil {
			err = permits(revision, last, tools)
		}
		if err == nil {
			err = make(ctx, tx)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `SELECT pg_notify($1, '')`, channel)
		}
		return err
	})
}

// do has f work in a transaction, in which the tables are there.
func (p *Postgres) do(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+answerTime+`'`); err != nil {
			return err
		}
		if err := prepare(ctx, tx); err != nil {
			return err
		}
		return f(ctx, tx)
	})
	return p.ours(err)
}

// ours is an error of a store: what is none of those of [Store.Put] is the database's.
func (p *Postgres) ours(err error) error {
	var stale *StaleError
	if err == nil || errors.Is(err, ErrExists) || errors.Is(err, ErrUnknown) || errors.Is(err, ErrFull) || errors.As(err, &stale) {
		return err
	}
	return &AwayError{p.where, err}
}

// prepare makes the tables, once, of however many processes start at the same time.
func prepare(ctx context.Context, tx pgx.Tx) error {
	has := func() (there bool, err error) {
		err = tx.QueryRow(ctx, `SELECT to_regclass('rlmproxy_tools') IS NOT NULL AND to_regclass('rlmproxy_tools_revision') IS NOT NULL`).Scan(&there)
		return there, err
	}
	there, err := has()
	if err != nil || there {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(changeLock)); err != nil {
		return err
	}
	if there, err = has(); err != nil || there { // another has, meanwhile
		return err
	}
	_, err = tx.Exec(ctx, schema)
	return err
}

// Follow implements [Store]. While the database is away, it tries again and again, and tells of a
// change when it is back.
func (p *Postgres) Follow(ctx context.Context, changed func()) {
	retry, told := firstRetry, false
	for ctx.Err() == nil {
		err := p.listen(ctx, func() {
			if told {
				p.logger.Info("the tools that agents made can be read again", "store", p.where)
			}
			retry, told = firstRetry, false
			changed()
		})
		if ctx.Err() != nil {
			return
		}
		if !told {
			p.logger.Warn("the database of tools that agents made is away: the last ones known go on, and none can be changed", "store", p.where, "error", err)
			told = true
		}
		pause(ctx, retry)
		retry = min(2*retry, lastRetry)
	}
}

// listen follows changes until the connection is lost.
func (p *Postgres) listen(ctx context.Context, changed func()) error {
	if err := p.do(ctx, func(context.Context, pgx.Tx) error { return nil }); err != nil { // the tables are there
		return err
	}
	brief := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, within) }
	connecting, cancel := brief()
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, p.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ending) // it is of no use any more
	}()
	if _, err := conn.Exec(connecting, "LISTEN "+channel); err != nil {
		return err
	}
	for {
		changed()
		waiting, cancel := context.WithTimeout(ctx, listenTime)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // nothing was heard, or the connection is lost
			asking, cancel := brief()
			err = conn.Ping(asking)
			cancel()
			if err != nil {
				return err
			}
			continue
		}
		pause(ctx, settleTime)
		for ctx.Err() == nil {
			at, cancel := context.WithTimeout(ctx, time.Millisecond)
			_, err := conn.WaitForNotification(at)
			cancel()
			if err != nil {
				break
			}
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
