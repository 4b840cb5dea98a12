package config

// Single is the configuration of one server that the command line gives. No
// file is read: the settings are those of the environment and the flags. The
// error is an [ErrorList].
func Single(s Server, opts Options) (*Config, error) {
	proxy, warnings, mistakes := layered(nil, opts)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	c := &Config{Servers: []Server{s}, Proxy: proxy, Warnings: warnings}
	fill(c.Servers, proxy.CallTimeout)
	return c, nil
}
