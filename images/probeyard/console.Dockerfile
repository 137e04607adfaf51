# The console's files, where the build machine has bundled them.
FROM scratch
COPY console/ /console/
