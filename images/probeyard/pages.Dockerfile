# The console, the documentation and the samples, where the build machine has made them.
FROM scratch
COPY console/ /console/
COPY site/ /site/
COPY samples/ /samples/
