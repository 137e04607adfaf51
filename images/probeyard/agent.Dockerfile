# The agent as one file, and what it starts, where the build machine has bundled them. Built without cached layers, as pages.Dockerfile.
FROM scratch
COPY agent/ /agent/
