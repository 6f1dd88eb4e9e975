# SPDX-License-Identifier: MIT
# Shortcuts. The build itself is meson's: see meson.build.
.DEFAULT_GOAL := build/lastlayer
PYTHON := $(shell [ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)

.PHONY: build/lastlayer python mpi check-cluster setup check check-long check-python wheel demo install bench bench-networks bench-scale bench-instructions bench-cluster results oracle oracle-pypi fuzz torture mutants cross dist clean

build/lastlayer: build/build.ninja
	@ninja -C build product

build/build.ninja:
	@command -v meson >/dev/null && command -v ninja >/dev/null || { echo "meson and ninja are missing: run 'make setup' first" >&2; exit 1; }
	@meson setup build

python:         ## the Python package for the system's Python: PYTHONPATH=build/python python3 -c "import lastlayer"
	@tools/setup build python
	@$(MAKE) --no-print-directory build/build.ninja
	@ninja -C build -t query python-package >/dev/null 2>&1 || meson setup --reconfigure build
	@ninja -C build python-package

mpi:            ## build/lastlayer-mpi, the command for the ranks of mpirun, with Open MPI; MPI=mpich takes the other one
	@tools/setup build $(if $(filter mpich,$(MPI)),mpich,openmpi)
	@$(MAKE) --no-print-directory build/build.ninja
	@meson configure build -Dmpi=enabled -Dmpi_name=$(if $(filter mpich,$(MPI)),mpich,ompi-c)
	@ninja -C build lastlayer-mpi

setup:          ## install the Debian packages that are missing
	@tools/setup build check demo

check:          ## every test: unit, command, sanitizers, fuzzers
	@tools/setup build check
	@$(PYTHON) tools/check.py

check-cluster:  ## lastlayer-mpi on 1 to 7 ranks of both MPIs, kills, cut links, a Slurm array; some 20 minutes, as root; ARGS="bytes kills" names some
	@tools/setup build check openmpi mpich cluster
	@$(PYTHON) tests/cluster/check_cluster.py $(ARGS)

check-python:   ## the Python package with the current torch, scikit-learn, pandas, polars, pyarrow, matplotlib and keras, from PyPI
	@tools/setup build python
	@$(MAKE) --no-print-directory build/lastlayer python
	@$(PYTHON) tools/check_python.py build $(ARGS)

wheel:          ## the Python package as sdist and wheel in dist/pypi, tested with every Python here, from PyPI; ARGS="--no-torch /usr/bin/python3" does less
	@tools/setup build python wheel
	@$(PYTHON) tools/wheel.py $(ARGS)

check-long:     ## longer versions of some tests, for a machine that has hours
	@tools/setup build check
	@$(PYTHON) tools/check.py --long

demo:           ## Fashion-MNIST: a network, every method on its last layer, one table, one page
	@tools/setup build demo
	@$(MAKE) --no-print-directory build/lastlayer
	@tools/demo

install: build/lastlayer ## PREFIX=/opt/lastlayer says where; DESTDIR as usual
	@$(if $(PREFIX),meson configure build -Dprefix=$(abspath $(PREFIX)) && ninja -C build product)
	@meson install -C build --no-rebuild

fuzz:           ## a minute per parser, counted in docs/reliability.md; ARGS=3600 takes an hour, ARGS="3600 npz csv" names the targets
	@tools/setup build check
	@$(PYTHON) tools/check.py --fuzz $(or $(ARGS),60)

torture:        ## every allocation and every call that writes fails once, each command is killed 1000 times; ARGS=100 kills 100 times
	@tools/setup build check
	@$(MAKE) --no-print-directory build/lastlayer
	@ninja -C build tests/torture/libfaults.so
	@$(PYTHON) tests/torture/torture.py build/lastlayer build/tests/torture/libfaults.so --all $(or $(ARGS),1000)

mutants:        ## changes lines and sees whether the tests notice, an hour or two; ARGS="--count 10 metrics" tries ten in one room
	@tools/setup build check
	@$(PYTHON) tools/mutants.py $(ARGS)

bench:          ## lastlayer beside PyTorch, numpy and scikit-learn -> bench/RESULTS.md; ARGS=--quick tries it
	@tools/setup build bench
	@$(MAKE) --no-print-directory build/lastlayer
	@ninja -C build bench_heads bench_kernels
	@$(PYTHON) bench/run.py $(ARGS)

bench-networks: ## VGG-16 and an MLP beside PyTorch, the table on the screen; ARGS=--quick tries it
	@tools/setup build bench
	@$(MAKE) --no-print-directory build/lastlayer
	@ninja -C build bench_networks
	@$(PYTHON) bench/networks.py build/bench/networks $(ARGS)

bench-scale:    ## one epoch on an ImageNet-sized file of features, 10 GB -> bench/SCALE.md; ARGS=--half-size takes 5
	@tools/setup build bench
	@$(MAKE) --no-print-directory build/lastlayer
	@ninja -C build bench_heads
	@$(PYTHON) bench/scale.py $(ARGS)

bench-instructions: ## instructions of fit and predict under callgrind, beside another build: ARGS=PATH -> bench/INSTRUCTIONS.md
	@tools/setup build instructions
	@$(MAKE) --no-print-directory build/lastlayer
	@$(PYTHON) bench/instructions.py $(ARGS)

bench-cluster:  ## what ranks cost, with network namespaces, some 10 minutes, as root -> bench/CLUSTER.md; ARGS=--quick tries it, ARGS=--model is the model alone
	@tools/setup build openmpi cluster bench
	@$(MAKE) --no-print-directory build/lastlayer mpi
	@$(PYTHON) bench/cluster.py $(ARGS)

results:        ## the experiments of docs/results, hours in all: ARGS="mnist fashion notmnist steps vgg resnet56 imagenet ensembles promises"
	@tools/setup build check
	@$(MAKE) --no-print-directory build/lastlayer
	@$(PYTHON) tools/results.py $(ARGS)

oracle:         ## make the committed fixtures again and compare
	@tools/setup build check oracle
	@$(PYTHON) tools/oracle.py

oracle-pypi:    ## the same for the fixture of laplace-torch, which pip installs from PyPI into build/oracle-pypi
	@tools/setup build
	@$(PYTHON) tools/oracle_pypi.py build

cross:          ## the stage of make check that runs aarch64 under qemu
	@tools/setup build check
	@$(PYTHON) tools/check.py --aarch64

dist:           ## the committed tree as dist/lastlayer-VERSION.tar.gz with its SHA-256, the same bytes every time; built and tested unpacked
	@tools/setup build check
	@tools/dist --check

clean:
	@rm -rf build build-* demo dist
