# The console, the documentation and the samples, where the build machine has made them. Built without cached layers:
# the files are the same for every architecture.
FROM scratch
COPY console/ /console/
COPY site/ /site/
COPY samples/ /samples/
