# npm run image       builds it, and where this base cannot be pulled, on a base made from Debian: docs/install.md#the-image
#
# Equal sources give an equal layer: the base is an exact version (a release pins its digest with NODE_IMAGE=node@sha256:...), packages
# come from the lock file, the compiler writes no dates, and all files have one time.
ARG NODE_IMAGE=node:26.10.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src src
COPY scripts/build.ts scripts/build-program.ts scripts/build-web.ts scripts/write-notices.ts scripts/
COPY scripts/menu scripts/menu
COPY scripts/supply scripts/supply
RUN npm run build

# The optional packages install Node for checkouts; the base image has its own.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund

# Node with the libraries it loads, and the application: no shell, no package manager, no compiler.
FROM ${NODE_IMAGE} AS root
COPY scripts/image/assemble.ts scripts/image/kept-in-image.ts scripts/image/volumes.ts /build/
COPY package.json LICENSE /application/
COPY --from=dependencies /src/node_modules /application/node_modules
COPY --from=build /src/dist /application/dist
COPY --from=build /src/THIRD_PARTY_NOTICES /application/
RUN node /build/assemble.ts /output /application

FROM scratch
COPY --from=root /output/root/ /
# The mount points of the vault's volumes; a new volume takes over its owner. The operator writes no file.
COPY --from=root --chown=65532:65532 /output/volumes/ /
ENV NODE_ENV=production
# Numeric, so that runAsNonRoot can be verified.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/main.js"]
CMD ["operator"]
