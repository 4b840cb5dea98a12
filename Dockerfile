# docker build -t rlmproxy .
# docs/operations.md says how to run it, and how to add Node for servers that want it.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w -buildid=" -o /out/rlmproxy ./cmd/rlmproxy
RUN mkdir /out/state

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE THIRD_PARTY.txt /usr/share/doc/rlmproxy/
COPY --from=build /out/rlmproxy /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/state /var/lib/rlmproxy
ENV PATH=/usr/local/bin RLMPROXY_STATE_DIR=/var/lib/rlmproxy
VOLUME /var/lib/rlmproxy
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["rlmproxy"]
