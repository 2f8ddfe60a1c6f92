# The program as a release has it, of what is committed in this clone: docker build -t mcpchain .
#
#   docker run -p 8080:8080 mcpchain run -to https://example.com/mcp -http 0.0.0.0:8080
#
# The image has no shell, no Node.js and no Python. For a server that is started as a command, the image of
# that server takes the program: COPY --from=mcpchain /mcpchain /usr/local/bin/
FROM --platform=$BUILDPLATFORM golang:1.27 AS build
WORKDIR /src
COPY . .
ARG TARGETOS TARGETARCH
RUN GOWORK=off go run -C internal/release . -dist /dist -systems "$TARGETOS/$TARGETARCH" && mv /dist/mcpchain_* /mcpchain

FROM gcr.io/distroless/static-debian13:nonroot
COPY --from=build /mcpchain /mcpchain
ENTRYPOINT ["/mcpchain"]
