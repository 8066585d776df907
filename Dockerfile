# The manifests with empty sources, from which the dependencies are built. This stage's output changes
# only when a manifest changes, so editing sources does not rebuild the dependencies.
FROM debian:bookworm-slim AS manifests
WORKDIR /source
COPY . .
RUN rm -rf migrations \
    && find crates -type f ! -name '*.rs' ! -name Cargo.toml -delete \
    && find crates -path '*/src/*' -name '*.rs' ! -name lib.rs ! -name main.rs -delete \
    && find crates -name '*.rs' -exec truncate --size 0 {} + \
    && find crates -type d -empty -delete \
    && for main in $(find crates -name main.rs -o -name build.rs); do \
        echo 'fn main() {}' >"$main"; \
    done

FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY --from=manifests /source .
RUN cargo build --release --locked --package api && rm -rf crates
COPY . .
# Cargo compares times, and a source may be older than the artifact just built from an empty one.
RUN find crates migrations -type f -exec touch {} + \
    && cargo build --release --locked --package api

FROM debian:bookworm-slim
# Certificates of the authorities that language model providers and identity providers use.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin agent-service \
    && install --directory --owner agent-service --group agent-service /data
COPY --from=build /source/target/release/agent-service /usr/local/bin/agent-service
# By number, so that Kubernetes can verify that it is not root.
USER 10001
# Reachable from outside the container, so the first start requires AUTH__BOOTSTRAP_KEY.
ENV SERVER__HOST=0.0.0.0 \
    SERVER__PORT=8080 \
    DATABASE_URL=sqlite:///data/agent-service.db
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["agent-service", "healthcheck"]
ENTRYPOINT ["agent-service"]
