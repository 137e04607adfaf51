# The agent as one file, where the build machine has bundled it. Built without cached layers, as pages.Dockerfile.
FROM scratch
COPY agent/ /agent/
