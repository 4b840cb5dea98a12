package deploy

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/redis/go-redis/v9"
	"go.yaml.in/yaml/v3"

	"rlmproxy/config"
	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// setting is the default of a setting, as it is written.
func setting(t *testing.T, name string) string {
	t.Helper()
	for _, s := range config.Settings() {
		if s.Name == name {
			return s.Default
		}
	}
	t.Fatalf("there is no setting %s", name)
	return ""
}

func bytesOf(t *testing.T, text string) uint64 {
	t.Helper()
	text = regexp.MustCompile(`^(\d+)([kmg])b?$`).ReplaceAllString(text, "${1}${2}ib") // as nginx, Valkey and Docker write them
	n, err := humanize.ParseBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// load holds that all variables of the program are settings, and returns what Load makes
// of them and of a file.
func load(t *testing.T, where, file string, environ map[string]string) *config.Config {
	t.Helper()
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Env()] = true
	}
	var all []string
	for name, value := range environ {
		if strings.HasPrefix(name, "RLMPROXY_") && !known[name] {
			t.Errorf("%s: %s is no setting", where, name)
		}
		all = append(all, name+"="+value)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Path: path, Environ: all})
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for _, w := range cfg.Warnings {
		t.Errorf("%s: %s", where, w)
	}
	return cfg
}

// graceful holds that who ends a replica waits for it: some seconds longer than it may take.
func graceful(t *testing.T, where string, cfg *config.Config, grace time.Duration) {
	t.Helper()
	if grace < cfg.Proxy.Drain+10*time.Second {
		t.Errorf("%s: a replica with drainSeconds %v is killed after %v", where, cfg.Proxy.Drain, grace)
	}
	if cfg.Proxy.Drain < 10*time.Second {
		t.Errorf("%s: balancers have %v to notice that a replica leaves", where, cfg.Proxy.Drain/2)
	}
}

// interpolated replaces ${NAME:?why} as Compose does.
func interpolated(text string) string {
	text = regexp.MustCompile(`\$\{([A-Z_]+):\?[^}]*\}`).ReplaceAllString(text, "agent:$1-0123456789abcdef0123456789")
	return strings.ReplaceAll(text, "$$", "$")
}

// TestCompose: what compose.yaml, nginx.conf, envoy.yaml and mcp.json say of each other is so.
func TestCompose(t *testing.T) {
	type service struct {
		Image, Build, User string
		Command, Volumes   []string
		Environment        map[string]string
		Ports              []string
		StopGracePeriod    string   `yaml:"stop_grace_period"`
		ExtraHosts         []string `yaml:"extra_hosts"`
		DependsOn          []string `yaml:"depends_on"`
		MemLimit           string   `yaml:"mem_limit"`
		ReadOnly           bool     `yaml:"read_only"`
		Networks           map[string]struct {
			Address string `yaml:"ipv4_address"`
		}
	}
	var compose struct {
		Services map[string]service
		Volumes  map[string]any
	}
	text := read(t, "compose.yaml")
	if err := yaml.Unmarshal([]byte(text), &compose); err != nil {
		t.Fatal(err)
	}
	nginx, envoy := read(t, "nginx.conf"), read(t, "envoy.yaml")
	if err := yaml.Unmarshal([]byte(envoy), new(any)); err != nil {
		t.Error(err)
	}
	var hosts []string
	for _, name := range slices.Sorted(maps.Keys(compose.Services)) {
		s := compose.Services[name]
		for _, d := range s.DependsOn {
			if compose.Services[d].Image == "" {
				t.Errorf("%s depends on %s, which is not there", name, d)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if path, ok := strings.CutPrefix(from, "./"); ok {
				read(t, path)
			} else if _, ok := compose.Volumes[from]; !ok {
				t.Errorf("%s: there is no volume %s", name, from)
			}
		}
		if s.Image != "rlmproxy" {
			continue
		}
		hosts = append(hosts, name+":"+s.Networks["default"].Address)
		environ := map[string]string{}
		for variable, value := range s.Environment {
			environ[variable] = interpolated(value)
		}
		cfg := load(t, "compose.yaml", read(t, "mcp.json"), environ)
		grace, err := time.ParseDuration(s.StopGracePeriod)
		if err != nil {
			t.Fatal(err)
		}
		graceful(t, "compose.yaml", cfg, grace)
		if err := fleet.Check(string(cfg.Proxy.CacheURL)); err != nil {
			t.Errorf("RLMPROXY_CACHE_URL: %v", err)
		}
		if !strings.Contains(string(cfg.Proxy.CacheURL), "://rlmproxy:") || !strings.Contains(string(cfg.Proxy.CacheURL), "@valkey:6379") {
			t.Errorf("RLMPROXY_CACHE_URL is %s", cfg.Proxy.CacheURL)
		}
		if !slices.Contains(s.Command, "0.0.0.0:8080") || !slices.Contains(s.Command, "/etc/rlmproxy/mcp.json") || !slices.Contains(s.Volumes, "./mcp.json:/etc/rlmproxy/mcp.json:ro") {
			t.Errorf("%s: %s, %s", name, s.Command, s.Volumes)
		}
		for _, conf := range []string{fmt.Sprintf("server %s:8080 ", name), fmt.Sprintf("{address: %s, port_value: 8080}", name)} {
			if !strings.Contains(nginx+envoy, conf) {
				t.Errorf("no balancer has %q", conf)
			}
		}
		replicaMemory(t, "compose.yaml", bytesOf(t, s.MemLimit))
	}
	if n := strings.Count(nginx, "    server replica"); len(hosts) != 3 || n != 3 || strings.Count(envoy, "{address: replica") != 3 {
		t.Errorf("replicas: %s, in nginx.conf %d", hosts, n)
	}
	if got := compose.Services["nginx"].ExtraHosts; !slices.Equal(got, hosts) {
		t.Errorf("extra_hosts of nginx are %s, and replicas have %s", got, hosts)
	}
	if !strings.Contains(nginx, "listen 8080;") || !slices.Equal(compose.Services["nginx"].Ports, []string{"127.0.0.1:8080:8080"}) {
		t.Errorf("nginx has the ports %s", compose.Services["nginx"].Ports)
	}
	for _, m := range regexp.MustCompile(`http://([a-z]+):`).FindAllStringSubmatch(read(t, "mcp.json"), -1) {
		if compose.Services[m[1]].Image == "" {
			t.Errorf("the server at %s in mcp.json is no service", m[1])
		}
	}
	size := regexp.MustCompile(`client_max_body_size (\w+);`).FindStringSubmatch(nginx)
	if size == nil || bytesOf(t, size[1]) != bytesOf(t, setting(t, "maxLineBytes")) {
		t.Errorf("nginx.conf: client_max_body_size %s, and maxLineBytes is %s", size, setting(t, "maxLineBytes"))
	}
	if directives := regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(nginx, ""); strings.Contains(directives, "non_idempotent") {
		t.Error("nginx.conf repeats what may have been executed")
	}
	most := regexp.MustCompile(`(?m)^maxmemory (\w+)$`).FindStringSubmatch(read(t, "valkey.conf"))
	if most == nil || bytesOf(t, most[1]) < 2*bytesOf(t, setting(t, "maxMemory")) || bytesOf(t, most[1]) >= bytesOf(t, compose.Services["valkey"].MemLimit) {
		t.Errorf("valkey.conf: maxmemory %s", most)
	}
	if !strings.Contains(read(t, "../Dockerfile"), "EXPOSE 8080\n") {
		t.Error("the Dockerfile has another port")
	}
	var scrape struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
		Rules []string `yaml:"rule_files"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/prometheus.yaml")), &scrape); err != nil {
		t.Fatal(err)
	}
	for _, file := range scrape.Rules {
		read(t, "prometheus/"+file)
	}
	for _, target := range scrape.Scrape[0].Static[0].Targets {
		if name, ok := strings.CutSuffix(target, ":8080"); !ok || compose.Services[name].Image != "rlmproxy" {
			t.Errorf("Prometheus scrapes %s", target)
		}
	}
}

// replicaMemory holds that a replica and its two jq workers have room.
func replicaMemory(t *testing.T, where string, limit uint64) {
	t.Helper()
	if need := 1<<30 + 2*bytesOf(t, setting(t, "jqMemory")); limit < need {
		t.Errorf("%s: a replica has %d bytes and may need %d", where, limit, need)
	}
}

// An object is a manifest of Kubernetes.
type object map[string]any

// at is what stands in o under keys; a number is an index.
func (o object) at(keys ...string) any {
	var v any = map[string]any(o)
	for _, key := range keys {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// manifests are those of kubernetes/, by kind and name.
func manifests(t *testing.T) map[string]object {
	t.Helper()
	all := map[string]object{}
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var listed struct{ Resources []string }
	if err := yaml.Unmarshal([]byte(read(t, "kubernetes/kustomization.yaml")), &listed); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if base := filepath.Base(file); base == "kustomization.yaml" {
			continue
		} else if !slices.Contains(listed.Resources, base) {
			t.Errorf("kustomization.yaml does not list %s", base)
		}
		for d := yaml.NewDecoder(strings.NewReader(read(t, file))); ; {
			var m map[string]any
			err := d.Decode(&m)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			o := object(m)
			all[fmt.Sprint(o["kind"], " ", o.at("metadata", "name"))] = o
		}
	}
	if len(listed.Resources) != len(files)-1 {
		t.Errorf("kustomization.yaml lists %s", listed.Resources)
	}
	return all
}

// TestKubernetes: what the manifests say of each other, of settings and of compose.yaml's
// files is so.
func TestKubernetes(t *testing.T) {
	all := manifests(t)
	secrets := read(t, "kubernetes/kustomization.yaml")
	pods := map[string]object{}
	for _, name := range []string{"Deployment rlmproxy", "StatefulSet rlmproxy-store"} {
		o := all[name]
		labels := fmt.Sprint(o.at("spec", "template", "metadata", "labels"))
		short := strings.Fields(name)[1]
		service := all["Service "+short]
		if got := fmt.Sprint(o.at("spec", "selector", "matchLabels")); got != labels {
			t.Errorf("%s selects %s, and its pods have %s", name, got, labels)
		}
		if got := fmt.Sprint(service.at("spec", "selector")); got != labels {
			t.Errorf("Service %s selects %s, and pods have %s", short, got, labels)
		}
		spec, _ := o.at("spec", "template", "spec").(map[string]any)
		pod := object(spec)
		pods[short] = pod
		if pod.at("securityContext", "runAsNonRoot") != true || pod.at("containers", "0", "securityContext", "readOnlyRootFilesystem") != true || pod.at("containers", "0", "securityContext", "allowPrivilegeEscalation") != false {
			t.Errorf("%s may do more than it needs", name)
		}
		port := pod.at("containers", "0", "ports", "0", "name")
		if got := service.at("spec", "ports", "0", "targetPort"); got != port {
			t.Errorf("Service %s goes to the port %v, and pods have %v", short, got, port)
		}
		var volumes []string
		for i := 0; pod.at("volumes", strconv.Itoa(i)) != nil; i++ {
			volumes = append(volumes, fmt.Sprint(pod.at("volumes", strconv.Itoa(i), "name")))
			if from := pod.at("volumes", strconv.Itoa(i), "configMap", "name"); from != nil && all[fmt.Sprint("ConfigMap ", from)] == nil {
				t.Errorf("%s: there is no ConfigMap %v", name, from)
			}
		}
		volumes = append(volumes, fmt.Sprint(o.at("spec", "volumeClaimTemplates", "0", "metadata", "name")))
		for i := 0; pod.at("containers", "0", "volumeMounts", strconv.Itoa(i)) != nil; i++ {
			if v := fmt.Sprint(pod.at("containers", "0", "volumeMounts", strconv.Itoa(i), "name")); !slices.Contains(volumes, v) {
				t.Errorf("%s mounts %s, and has the volumes %s", name, v, volumes)
			}
		}
		for i := 0; pod.at("containers", "0", "env", strconv.Itoa(i)) != nil; i++ {
			ref := pod.at("containers", "0", "env", strconv.Itoa(i), "valueFrom", "secretKeyRef", "key")
			if ref != nil && !strings.Contains(secrets, fmt.Sprintf("--from-literal=%s=", ref)) {
				t.Errorf("%s: kustomization.yaml does not say how to make the secret %s", name, ref)
			}
		}
	}

	pod := pods["rlmproxy"]
	values := map[string]string{"cache-url": "redis://rlmproxy:x@rlmproxy-store:6379",
		"fleet-key": "0123456789abcdef0123456789abcdef", "http-tokens": "alice:0123456789abcdef", "metrics-token": "metrics-0123456789abcdef"}
	environ := map[string]string{}
	for i := 0; pod.at("containers", "0", "env", strconv.Itoa(i)) != nil; i++ {
		env := func(keys ...string) string {
			return fmt.Sprint(pod.at(append([]string{"containers", "0", "env", strconv.Itoa(i)}, keys...)...))
		}
		environ[env("name")] = values[env("valueFrom", "secretKeyRef", "key")]
	}
	if len(environ) != 4 {
		t.Errorf("variables: %v", environ)
	}
	cfg := load(t, "kubernetes/", fmt.Sprint(all["ConfigMap rlmproxy"].at("data", "mcp.json")), environ)
	grace, _ := pod.at("terminationGracePeriodSeconds").(int)
	graceful(t, "kubernetes/", cfg, time.Duration(grace)*time.Second)
	if wants := fmt.Sprintf("redis://rlmproxy:$password@%s:%v", "rlmproxy-store", all["Service rlmproxy-store"].at("spec", "ports", "0", "port")); !strings.Contains(secrets, wants) {
		t.Errorf("the secret cache-url is not %s", wants)
	}
	args := fmt.Sprint(pod.at("containers", "0", "args"))
	if port := pod.at("containers", "0", "ports", "0", "containerPort"); !strings.Contains(args, fmt.Sprintf("0.0.0.0:%v ", port)) {
		t.Errorf("the port is %v, and the arguments are %s", port, args)
	}
	for probe, path := range map[string]string{"readinessProbe": "/readyz", "livenessProbe": "/healthz"} {
		if got := pod.at("containers", "0", probe, "httpGet", "path"); got != path {
			t.Errorf("%s asks %v", probe, got)
		}
	}
	period, _ := pod.at("containers", "0", "readinessProbe", "periodSeconds").(int)
	failures, _ := pod.at("containers", "0", "readinessProbe", "failureThreshold").(int)
	if notice := time.Duration(period*failures) * time.Second; notice == 0 || notice > cfg.Proxy.Drain/2 {
		t.Errorf("it takes %v to notice that a replica leaves, and it serves on for %v", notice, cfg.Proxy.Drain/2)
	}
	limit := fmt.Sprint(pod.at("containers", "0", "resources", "limits", "memory"))
	replicaMemory(t, "kubernetes/", bytesOf(t, limit+"B"))
	if got := fmt.Sprint(all["PodDisruptionBudget rlmproxy"].at("spec", "selector")); got != fmt.Sprint(all["Deployment rlmproxy"].at("spec", "selector")) {
		t.Errorf("the disruption budget selects %s", got)
	}
	for i := range 2 {
		path := fmt.Sprint(all["Ingress rlmproxy"].at("spec", "rules", "0", "http", "paths", strconv.Itoa(i), "path"))
		if !strings.Contains(read(t, "nginx.conf"), "location "+path+" {") || !strings.Contains(read(t, "envoy.yaml"), "path_separated_prefix: "+path+"}") {
			t.Errorf("the path %s is not in nginx.conf and envoy.yaml", path)
		}
	}
	data := all["ConfigMap rlmproxy-store"]
	if got := strings.Fields(fmt.Sprint(data.at("data", "valkey.rights"))); !slices.Equal(got, fleettest.Rights(t)) {
		t.Errorf("valkey.yaml has other rights than valkey.rights: %s", got)
	}
	plain := regexp.MustCompile(`(?m)^(#.*)?\n`).ReplaceAllString(read(t, "valkey.conf"), "")
	if got := fmt.Sprint(data.at("data", "valkey.conf")); got != plain {
		t.Errorf("valkey.yaml has another file than valkey.conf:\n%s", got)
	}
}

// TestRights: valkey.rights allows each command that the program has a store do, in scripts
// and else, and none that would do harm beyond the keys of replicas.
func TestRights(t *testing.T) {
	rights := fleettest.Rights(t)
	found := map[string]string{}
	scripts := regexp.MustCompile(`\bp?call\(['"]([A-Za-z]+)['"]`)
	// Of go-redis, where a function is given a client or a pipeline. Some have other names.
	plain := regexp.MustCompile(`\b(?:c|p|pipe|client)\.([A-Z]\w*)\(ctx\b`)
	named := map[string]string{"setnx": "set", "setargs": "set", "configget": ""} // asked for only where it is allowed
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "node_modules" || d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".lua"):
			return nil
		}
		text := read(t, path)
		if strings.HasSuffix(path, ".go") && !strings.Contains(text, `"github.com/redis/go-redis/v9"`) {
			return nil
		}
		for _, m := range scripts.FindAllStringSubmatch(text, -1) {
			found[strings.ToLower(m[1])] = path
		}
		for line := range strings.Lines(text) {
			if m := plain.FindStringSubmatch(line); m != nil && (strings.Contains(line, ").Err()") || strings.Contains(line, ").Result()") || strings.Contains(line, "p.")) {
				command := strings.ToLower(m[1])
				if name, ok := named[command]; ok {
					command = name
				}
				found[command] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(found, "")
	delete(found, "pipelined")
	for command, path := range found {
		if !slices.Contains(rights, "+"+command) {
			t.Errorf("valkey.rights does not allow %s, which %s has the store do", command, path)
		}
	}
	if len(found) < 10 {
		t.Errorf("%d commands are found", len(found))
	}
	store := fleettest.Start(t)
	for _, command := range [][]any{{"FLUSHALL"}, {"KEYS", "*"}, {"CONFIG", "GET", "*"}, {"GET", "other"}, {"ACL", "LIST"}, {"SUBSCRIBE", "other"}, {"CLIENT", "LIST"}, {"SHUTDOWN"}, {"SCRIPT", "FLUSH"}} {
		user := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(store.URL, "unix://")})
		if err := user.Do(t.Context(), command...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: %v", command, err)
		}
		user.Close()
	}
}
