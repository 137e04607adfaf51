# `make` lists the targets. Each runs on Node 24 from npm, whatever node the machine has.
RUN = npm exec --no --silent -- node
MODULES = node_modules/.package-lock.json
# The real servers that unit tests run against, and Helm; nothing to do once they are built.
SERVERS = $(RUN) test/node/build.ts etcd kubernetes nats-server helm

help: ## this list
	@awk -F ':.*## ' '/^##@/ { print substr($$0, 4) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Use
up: $(MODULES) ## start the local cluster (VALUES=file; NODES=3; NETWORK_POLICY=1; KUBERNETES=1.33; CLUSTER=kind)
	@$(RUN) test/node/up.ts

down: $(MODULES) ## end everything that `make up` started
	@$(RUN) test/node/down.ts

status: $(MODULES) ## what runs
	@$(RUN) test/node/status.ts

logs: $(MODULES) ## logs of the local cluster's daemons (OF=kubelet: of one; FOLLOW=1: as they grow)
	@$(RUN) test/node/logs.ts

images: $(MODULES) ## build the images that changed
	@$(RUN) images/build.ts

release: $(MODULES) ## chart and images, signed, in one folder (KEY=file, OUT=dist): docs/release.md
	@$(RUN) images/release/release.ts $(if $(KEY),--key $(KEY)) $(if $(OUT),--out $(OUT))

release-check: $(MODULES) ## copy a release to a registry, and read it back (RELEASE=dist/probeyard-VERSION)
	@$(RUN) test/images/release/check.ts $(if $(RELEASE),--release $(RELEASE))

release-install: $(MODULES) ## install a release from a registry, with no other network (RELEASE=dist/probeyard-VERSION)
	@$(RUN) test/images/release/install.ts $(if $(RELEASE),--release $(RELEASE))

##@ Test
test: $(MODULES) ## check, unit and cluster; builds and starts what they need (SLOW=1: test-slow, too; LONG=1: minutes)
	@$(RUN) test/prepare.ts
	@$(RUN) test/run.ts check unit $(if $(SLOW),slow) cluster

check: $(MODULES) ## types, lint, unused code, generated files, format
	@$(RUN) test/run.ts check

test-unit: $(MODULES) ## tests without a cluster
	@$(SERVERS)
	@$(RUN) test/run.ts unit

test-cluster: $(MODULES) ## tests on the local cluster
	@$(RUN) test/run.ts cluster

test-slow: $(MODULES) ## browsers, the command line, Helm, compilers, limits, changes of the release: before a merge
	@$(RUN) test/prepare.ts
	@$(RUN) test/run.ts slow

test-postgres: $(MODULES) ## tests of the store against PostgreSQL 17 and 18 of newer Debian suites (VERSIONS=18)
	@nice -n 19 $(RUN) test/store/postgres_versions.ts $(VERSIONS)

browser: $(MODULES) ## the pages in a real browser (Debian's chromium, fetched into the cache)
	@$(RUN) test/browser/chromium.ts
	@npm exec --no --silent -- mocha 'test/api/docs/*.test.ts' 'test/console/*.test.ts'

matrix: $(MODULES) ## tests on each Kubernetes version, with a node of it; writes docs/compat.md (VERSIONS="1.33 1.35")
	@$(RUN) test/matrix/run.ts

gitops: $(MODULES) ## Argo CD's and Flux's libraries apply the running release, and find no difference
	@$(RUN) test/node/build.ts gitops
	@npm exec --no --silent -- mocha --exit test/cluster/gitops.test.ts

kueue: $(MODULES) ## ProbeBatches in queues of Kueue: its controllers and scheduler beside an API server
	@$(SERVERS)
	@$(RUN) test/node/build.ts kueue
	@npm exec --no --silent -- mocha --exit test/api/batch/kueue.test.ts test/api/batch/multikueue.test.ts

vm: $(MODULES) ## `make up` and tests in an emulated machine with control groups v2 (an hour; MEMORY=9G, TESTS="test/…")
	@$(RUN) images/build.ts > /dev/null
	@$(RUN) test/vm/run.ts

screenshots: $(MODULES) ## take the pictures of docs from the cluster (docs/pictures); writes docs/pictures.md
	@$(RUN) test/browser/chromium.ts
	@$(RUN) test/console/pictures.ts

mutations: $(MODULES) ## take out each guard that no type holds: a test must fail; writes docs/reports/mutations.md
	@$(SERVERS)
	@nice -n 19 $(RUN) test/mutations/run.ts

mutate: $(MODULES) ## mutate source files and run their tests (FILES="src/…", TESTS)
	@nice -n 19 $(RUN) test/mutations/mutate.ts

fuzz-api: $(MODULES) ## random requests to the whole interface (CASES, N, SEED, SIDE); writes docs/reports/fuzzing.md
	@$(SERVERS)
	@nice -n 19 $(RUN) test/fuzz/api/run.ts

fuzz-media: $(MODULES) ## damaged media through a runner (CASES, SEED, ONLY=qc); writes docs/reports/fuzzing.md
	@$(RUN) test/fuzz/media/run.ts

fuzz-hls: $(MODULES) ## mutated playlists through the HLS parser (ROUNDS, SEED)
	@$(RUN) test/hls/fuzz.ts

fuzz-c2pa: $(MODULES) ## changed signed files through the C2PA check (CASES, SEED)
	@$(RUN) images/cargo_build.ts
	@nice -n 19 $(RUN) test/c2pa/fuzz.ts $(or $(CASES),10000) $(SEED)

##@ Measure: writes docs/reports
# Servers of tests keep their data in memory, where there is room; what is measured lies on the disk.
bench bench-%: export TMPDIR ?= /var/tmp
bench: $(MODULES) ## latency, throughput, memory against their ranges: measurements.md (NAMES="warm far": some)
	@$(RUN) bench/run.ts $(NAMES)

bench-hls: $(MODULES) ## the HLS validator beside others: hls.md
	@$(RUN) bench/hls/run.ts

bench-qc: $(MODULES) ## content checks beside two meters and dav1d, on made files (PLACES, SOUNDS, FILMS): qc.md
	@nice -n 19 $(RUN) bench/qc/run.ts

bench-scale: $(MODULES) ## a queue of 50,000 jobs, and 5,000 runners on 1,000 simulated nodes (an hour, 8 GB)
	@$(SERVERS)
	@nice -n 19 $(RUN) bench/scale/queue.ts 10000 50000
	@nice -n 19 $(RUN) bench/scale/nodes.ts

bench-store: $(MODULES) ## log and statistics over ten million requests: queries.md (10 minutes at rest, 18 GB of disk)
	@nice -n 19 $(RUN) bench/store/large.ts
	@nice -n 19 $(RUN) bench/store/batch.ts

bench-upgrade: $(MODULES) ## migrations on 20 million rows under load (ROWS; some minutes, 10 GB of disk)
	@nice -n 19 $(RUN) bench/store/upgrade.ts $(if $(ROWS),--rows $(ROWS))

bench-sizing: $(MODULES) ## bytes per row of what grows, for operating/sizing.md (ROWS; some minutes, 4 GB of disk)
	@nice -n 19 $(RUN) bench/store/sizing.ts $(if $(ROWS),--rows $(ROWS))

faults: $(MODULES) ## every fault under load on the running cluster: faults.md (NAMES="leader_killed": some)
	@$(RUN) test/faults/table.ts $(NAMES)

alerts: $(MODULES) ## which alert each fault raises, by a real Prometheus beside the cluster: alerts.md (NAMES)
	@$(RUN) test/faults/alerts/table.ts $(NAMES)

soak: $(MODULES) ## an hour of random faults, two at a time, under load: faults.md (MINUTES, SEED)
	@$(RUN) test/faults/soak/run.ts --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

hostility: $(MODULES) ## attacks from inside and outside on the local cluster: hostility.md
	@$(RUN) test/hostility/table.ts

sources: peers ## every kind of source with every tool version: sources.md
	@$(RUN) test/streams/table.ts

peers: $(MODULES) ## build the servers that `make sources` reads from (RTSP, RTMP, SRT, S3)
	@$(RUN) test/node/build.ts mediamtx versitygw

compare: $(MODULES) ## compare versions on a LIST of addresses (FFPROBE=4.4,9.0 MEDIAINFO=21.09,26.10 OUT=report.json)
	@LIST=$(LIST) FFPROBE=$(FFPROBE) MEDIAINFO=$(MEDIAINFO) OUT=$(OUT) $(RUN) bench/compare/list.ts

report-data: $(MODULES) ## make files with known truth, read by every tool version (FILES=1000; HELD_OUT=1; long)
	@nice -n 19 $(RUN) bench/report/collect.ts

report-train: $(MODULES) ## learn the weights of probe_report from them
	@$(RUN) bench/report/train.ts

report-tables: $(MODULES) ## measure probe_report on held-out files: report.md
	@$(RUN) bench/report/evaluate.ts
	@$(RUN) bench/report/calibrate.ts
	@$(RUN) bench/report/witness.ts

##@ Generate
generate: $(MODULES) ## write CRDs, chart files and reference pages from their sources; `make check` finds drift
	@$(RUN) charts/generate.ts

format: $(MODULES) ## format code and prose
	@npm run --silent format

images-source: $(MODULES) ## build and check every tool version from upstream source (needs the upstream sites)
	@$(RUN) images/source.ts

# npm writes this file at the end of an install. By an older Node, npm warns of each package that wants a later one;
# here it runs on the Node that is installed.
$(MODULES): package-lock.json
	npm exec --yes --package="node@$$(node -p 'require("./package.json").devDependencies.node')" -- npm ci
	@touch $@

.PHONY: help up down status logs images test check test-unit test-cluster test-slow test-postgres browser screenshots \
	matrix vm mutations mutate fuzz-api fuzz-media fuzz-hls fuzz-c2pa bench bench-hls bench-qc bench-scale bench-store \
	bench-upgrade bench-sizing faults gitops kueue \
	alerts soak hostility sources peers compare report-data report-train report-tables generate format images-source \
	release release-check release-install
