# Stands in for the public Node image where there is no registry to take it from.
ARG BASE
FROM ${BASE}
COPY node /usr/local/bin/node
