package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet/fleettest"
)

// freePort is a port of 127.0.0.1 that nobody uses now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// works has two replicas share a store, by all that the package does there.
func works(t *testing.T, url string) {
	t.Helper()
	a, b := open(t, Options{URL: url}), open(t, Options{URL: url})
	for _, s := range []*Store{a, b} {
		if _, cause := s.Away(); cause != nil {
			t.Fatalf("it is away: %v", cause)
		}
	}
	if string(a.Keys("x")[0]) != string(b.Keys("x")[0]) {
		t.Error("two replicas have two keys")
	}
	heard := make(chan bool, 100)
	b.Handle("greeting", func(string, json.RawMessage) { heard <- true })
	fleettest.Until(t, "b hears a", func() bool {
		if err := a.Tell(t.Context(), b.Replica(), "greeting", 1); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	})
	both := redis.NewScript(`redis.call('SET', KEYS[1], ARGV[1]); redis.call('SET', KEYS[2], ARGV[1]); return redis.call('GET', KEYS[1])`)
	err := a.Run(t.Context(), func(ctx context.Context, c redis.Cmdable) error {
		if err := both.Run(ctx, c, []string{a.Key("one", "x"), a.Key("two", "y")}, "v").Err(); err != nil {
			return err
		}
		for i := range 20 {
			if err := c.Set(ctx, a.SpreadKey("data", fmt.Sprint(i)), i, time.Minute).Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCluster: a script has all its keys in one slot.
func TestCluster(t *testing.T) {
	port := freePort(t)
	server := fleettest.Start(t, "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes")
	if err := server.Client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	fleettest.Until(t, "the cluster has begun", func() bool {
		info, err := server.Client.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	works(t, "redis://127.0.0.1:"+port+"?cluster=true")
}

// TestSentinel: when another server is made the main one, the store is there again.
func TestSentinel(t *testing.T) {
	first, second, sentinel := freePort(t), freePort(t), freePort(t)
	one := fleettest.Start(t, "--port", first, "--bind", "127.0.0.1", "--masteruser", "admin", "--masterauth", "any") // it may become the other
	fleettest.Start(t, "--port", second, "--bind", "127.0.0.1", "--replicaof", "127.0.0.1", first, "--masteruser", "admin", "--masterauth", "any")
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 %s 1\nsentinel auth-user main admin\nsentinel auth-pass main any\nsentinel down-after-milliseconds main 300\nsentinel failover-timeout main 2000\n", sentinel, first)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fleettest.Sentinel(t, conf, sentinel)
	url := "redis://127.0.0.1:" + sentinel + "?master_name=main"
	works(t, url)
	s := open(t, Options{URL: url})
	asked := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + sentinel})
	defer asked.Close()
	fleettest.Until(t, "the sentinel knows the other server", func() bool {
		replicas, err := asked.Replicas(t.Context(), "main").Result()
		return err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})
	one.Kill()
	fleettest.Until(t, "the other one has taken over", func() bool {
		return s.Run(t.Context(), func(ctx context.Context, c redis.Cmdable) error {
			return c.Set(ctx, s.Key("test"), "x", 0).Err()
		}) == nil
	})
}

// TestTLS: rediss:// goes over TLS, and trusts nobody who is not to be trusted.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "store"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	port := freePort(t)
	fleettest.Start(t, "--tls-port", port, "--bind", "127.0.0.1", "--tls-auth-clients", "no",
		"--tls-cert-file", write("cert.pem", "CERTIFICATE", der), "--tls-key-file", write("key.pem", "PRIVATE KEY", private))
	s := open(t, Options{URL: "rediss://127.0.0.1:" + port})
	if _, cause := s.Away(); cause == nil || !strings.Contains(cause.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", cause)
	}
	works(t, "rediss://127.0.0.1:"+port+"?skip_verify=true")
}
