# The operator as one static binary in an empty image, for the platform that is asked for. `make release`
# reads this file: it runs the command that compiles and makes the same image, without docker.
#
#   docker build -t fairlead --platform linux/arm64 --build-arg VERSION=v1.2.3 .
#
# It is built on the machine's own platform, for Go compiles for any other as fast; and equal sources
# and versions are equal binaries, wherever they are built.

# A tag can be moved to another image; a digest cannot. The one of golang:1.26.8 in your registry goes here, with its
# sign: --build-arg GO_IMAGE_DIGEST=@sha256:...
ARG GO_IMAGE_DIGEST=
FROM --platform=$BUILDPLATFORM golang:1.26.8${GO_IMAGE_DIGEST} AS build
# No other Go than that of the image, no module that go.mod does not name, none whose sum go.sum does not have.
ENV GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOSUMDB=sum.golang.org CGO_ENABLED=0
WORKDIR /src
# Dependencies change less often than code: they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=devel
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -buildid= -X fairlead.dev/fairlead/cli/operator.release=$VERSION" -o /fairlead .

FROM scratch
# Whom to believe that it is the cloud.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /fairlead /fairlead
# Numeric, so that runAsNonRoot can be checked without a user database.
USER 65532:65532
ENTRYPOINT ["/fairlead"]
