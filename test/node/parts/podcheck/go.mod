module probeyard.dev/node/podcheck

go 1.26.0
