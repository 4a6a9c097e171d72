# docker build --tag vaultsync:0.1.0 .
#
# The build is reproducible: the base is an exact version (a release pins its digest with NODE_IMAGE=node@sha256:...), packages come
# from the lock file, and the compiler writes no dates. For identical layers as well:
#   docker buildx build --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) --output type=image,rewrite-timestamp=true .
ARG NODE_IMAGE=node:26.10.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY scripts/build-web.ts scripts/build-web.ts
RUN npm run build && npm run build:web

# The optional packages install Node for checkouts; the base image has its own.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY package.json LICENSE* ./
COPY --from=dependencies /src/node_modules node_modules
COPY --from=build /src/dist dist
# Numeric, so that runAsNonRoot can be verified. The process writes no file.
USER 65532:65532
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["operator"]
