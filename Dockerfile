# The operator as one static binary in an empty image.
FROM golang:1.26 AS build
WORKDIR /src
# Dependencies change less often than code: they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /fairlead .

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /fairlead /fairlead
# Numeric, so that runAsNonRoot can be checked without a user database.
USER 65532:65532
ENTRYPOINT ["/fairlead"]
