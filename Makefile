# One line per target: `make`. Every target runs on Node 24 from npm, whatever node the machine has.
RUN = npm exec --no --silent -- node
# The real servers that unit tests run against; nothing to do once they are built.
SERVERS = $(RUN) test/node/build.ts etcd kubernetes nats-server
export CLUSTER REGISTRY OF FOLLOW CASES SEED N SIDE ONLY

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: node_modules/.package-lock.json ## start the local cluster with Probeyard on it (CLUSTER=current REGISTRY=host/path: install on kubectl's cluster)
	@$(RUN) test/node/up.ts

down: node_modules/.package-lock.json ## end everything that `make up` started
	@$(RUN) test/node/down.ts

test: node_modules/.package-lock.json ## all tests; starts what they need
	@$(SERVERS)
	@$(RUN) test/run.ts

test-unit: node_modules/.package-lock.json ## tests without a cluster
	@$(SERVERS)
	@$(RUN) test/run.ts unit

test-cluster: node_modules/.package-lock.json ## tests on the local cluster
	@$(RUN) test/run.ts cluster

faults: node_modules/.package-lock.json ## every fault under load on the running cluster; writes docs/reports/faults.md (NAMES="leader_killed ...")
	@$(RUN) test/faults/table.ts $(NAMES)

soak: node_modules/.package-lock.json ## an hour of random faults, two at a time, under load (MINUTES, SEED)
	@$(RUN) test/faults/soak/run.ts --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

hostility: node_modules/.package-lock.json ## attacks from inside and outside on the local cluster; writes the tables of docs/reports/hostility.md
	@$(RUN) test/hostility/table.ts

bench: node_modules/.package-lock.json ## measurements, compared with their ranges, into docs/reports/measurements.md (NAMES="warm far": some)
	@$(RUN) bench/run.ts $(NAMES)

fuzz-api: node_modules/.package-lock.json ## made-up requests against the whole interface (CASES=10000 of each side, N=500 examples of each operation in a round, SEED, SIDE=gateway or management); writes its part of docs/reports/fuzzing.md
	@$(SERVERS)
	@nice -n 19 $(RUN) test/fuzz/api/run.ts

bench-hls: node_modules/.package-lock.json ## the HLS validator beside others; writes the tables of docs/hls.md
	@$(RUN) bench/hls/run.ts

fuzz-hls: node_modules/.package-lock.json ## the HLS parser on mutated playlists, for long (ROUNDS=, SEED=)
	@$(RUN) test/hls/fuzz.ts

bench-store: node_modules/.package-lock.json ## the log and statistics over ten million requests (an hour, 16 GB of disk meanwhile); writes docs/reports/queries.md
	@nice -n 19 $(RUN) bench/store/large.ts

report-data: node_modules/.package-lock.json ## make the files that the report is trained on, and have every tool version read them (FILES=1000; hours of one core at most)
	@nice -n 19 $(RUN) bench/report/collect.ts

report-train: node_modules/.package-lock.json ## learn the weights of the report from them
	@$(RUN) bench/report/train.ts

report-tables: node_modules/.package-lock.json ## measure the report on held-out files, into docs/report.md
	@$(RUN) bench/report/evaluate.ts

images: node_modules/.package-lock.json ## build the images that changed
	@$(RUN) images/build.ts

images-source: node_modules/.package-lock.json ## build and check every tool version from upstream source (needs the upstream sites)
	@$(RUN) images/source.ts

peers: node_modules/.package-lock.json ## build the servers that sources are tried against (RTSP, RTMP, SRT, S3)
	@$(RUN) test/node/build.ts mediamtx versitygw

sources: peers ## every kind of source with every tool version; writes the table of docs/sources.md
	@$(RUN) test/streams/table.ts

fuzz-media: node_modules/.package-lock.json ## damaged media through the runner (CASES=1000 SEED=...); writes its part of docs/reports/fuzzing.md
	@$(RUN) test/fuzz/media/run.ts

browser: node_modules/.package-lock.json ## the pages in a real browser (Debian's chromium, fetched into the cache)
	@$(RUN) test/browser/chromium.ts
	@npm exec --no --silent -- mocha 'test/api/openapi/page/*.test.ts'

status: node_modules/.package-lock.json ## what runs
	@$(RUN) test/node/status.ts

logs: node_modules/.package-lock.json ## the daemons' logs (OF=kubelet: one of them; FOLLOW=1: as they grow)
	@$(RUN) test/node/logs.ts

fuzz-c2pa: node_modules/.package-lock.json ## changed signed files to the C2PA check (CASES=10000 SEED=...)
	@$(RUN) images/cargo_build.ts
	@nice -n 19 $(RUN) test/c2pa/fuzz.ts $(or $(CASES),10000) $(SEED)

# npm writes this file at the end of an install.
node_modules/.package-lock.json: package-lock.json
	npm ci
	@touch $@

.PHONY: help up down test test-unit test-cluster faults soak hostility bench fuzz-api bench-hls fuzz-hls bench-store report-data report-train report-tables images images-source peers sources fuzz-media browser status logs fuzz-c2pa
