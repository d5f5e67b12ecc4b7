# The operator as one static binary in an empty image, for the platform that is asked for:
#
#   docker build -t fairlead --platform linux/arm64 --build-arg VERSION=v1.2.3 .
#
# It is built on the machine's own platform, for Go compiles for any other as fast; and equal sources
# and versions are equal binaries, wherever they are built.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
# Dependencies change less often than code: they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=devel
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -buildid= -X fairlead.dev/fairlead/cli.release=$VERSION" -o /fairlead .

FROM scratch
# Whom to believe that it is the cloud.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /fairlead /fairlead
# Numeric, so that runAsNonRoot can be checked without a user database.
USER 65532:65532
ENTRYPOINT ["/fairlead"]
