# The agent as one file, what it starts, and the command line, where the build machine has bundled them. Built without
# cached layers, as pages.Dockerfile.
FROM scratch
COPY agent/ /agent/
COPY client/ /client/
