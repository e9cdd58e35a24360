//! The programs: a table.

use std::path::Path;

use crate::bench::compare::{Right, whole};
use crate::bench::{Outcome, Stop};

/// A program: where it comes from, how it is built, what it is made to do.
pub(crate) struct Program {
    /// What it is called here.
    pub(crate) name: &'static str,
    /// The source package.
    pub(crate) package: &'static str,
    /// Packages whose headers and tools the build needs.
    pub(crate) needs: &'static [&'static str],
    /// What the build runs, one after the other, in the source's folder.
    pub(crate) build: &'static [&'static [&'static str]],
    /// Added to the compilers' flags in all builds alike: what an old source needs today.
    pub(crate) flags: &'static str,
    /// The generated input is divided by this.
    pub(crate) share: usize,
    /// What is measured.
    pub(crate) steps: &'static [Step],
}

/// One run of a program.
pub(crate) struct Step {
    /// What it is called in the tables.
    pub(crate) name: &'static str,
    /// Program and arguments, run in the folder above the source's, which is called `source`;
    /// `{input}` and `{threads}` are put in.
    pub(crate) words: &'static [&'static str],
    /// The file that takes its standard output.
    pub(crate) output: &'static str,
    /// What that file has to be.
    pub(crate) product: Product,
}

/// What a step makes.
pub(crate) enum Product {
    /// The same bytes as the native build.
    Same,
    /// The input again.
    Input,
    /// The same numbers of keys found as the native build.
    Found,
}

impl Step {
    /// What its output has to be equal to.
    pub(crate) fn right(&self, input: &Path) -> Right {
        match self.product {
            Product::Same => Right::Native(whole),
            Product::Input => Right::File(input.to_owned()),
            Product::Found => Right::Native(found),
        }
    }
}

impl Step {
    /// Fails if the step is to restore its input and did not.
    pub(crate) fn check_restored(&self, input: &Path, folder: &Path) -> Outcome<()> {
        let path = folder.join(self.output);
        if matches!(self.product, Product::Input) && std::fs::read(input).ok() != std::fs::read(&path).ok() {
            return Err(Stop::failed(format!("{}: the result is wrong", self.name)));
        }
        Ok(())
    }
}

/// The `(N of M found)` of db_bench's lines.
fn found(output: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(output);
    let parts = text.lines().filter(|line| line.ends_with("found)")).filter_map(|line| line.split_once('('));
    parts.map(|(_, part)| part.to_owned()).collect::<Vec<_>>().join("\n").into_bytes()
}

/// All of them.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "pigz",
        package: "pigz",
        needs: &["zlib1g-dev", "make"],
        // Its Makefile names gcc; -e lets the environment's compiler win.
        build: &[&["make", "-e", "pigz"]],
        flags: "",
        share: 1,
        steps: &[
            Step {
                name: "pigz",
                words: &["source/pigz", "-n", "-p", "{threads}", "-c", "{input}"],
                output: "input.gz",
                product: Product::Same,
            },
            Step {
                name: "pigz-d",
                words: &["source/pigz", "-d", "-p", "{threads}", "-c", "input.gz"],
                output: "input.out",
                product: Product::Input,
            },
        ],
    },
    Program {
        name: "pbzip2",
        package: "pbzip2",
        needs: &["libbz2-dev", "make"],
        build: &[&["make", "pbzip2"]],
        // Written before C++11's literals.
        flags: "-std=gnu++98",
        share: 2,
        steps: &[
            Step {
                name: "pbzip2",
                words: &["source/pbzip2", "-k", "-c", "-p{threads}", "{input}"],
                output: "input.bz2",
                product: Product::Same,
            },
            Step {
                name: "pbzip2-d",
                words: &["source/pbzip2", "-d", "-k", "-c", "-p{threads}", "input.bz2"],
                output: "input.out",
                product: Product::Input,
            },
        ],
    },
    Program {
        name: "xz",
        package: "xz-utils",
        needs: &["make"],
        // One static program, so that what is measured is the library and not libtool's wrapper.
        build: &[&["./configure", "--disable-shared", "--disable-nls", "--disable-doc"], &["make", "-j2"]],
        flags: "",
        share: 10,
        steps: &[
            Step {
                name: "xz",
                words: &[
                    "source/src/xz/xz",
                    "-1",
                    "-T{threads}",
                    "--block-size=524288",
                    "-k",
                    "-c",
                    "{input}",
                ],
                output: "input.xz",
                product: Product::Same,
            },
            Step {
                name: "xz-d",
                words: &["source/src/xz/xz", "-d", "-T{threads}", "-k", "-c", "input.xz"],
                output: "input.out",
                product: Product::Input,
            },
        ],
    },
    Program {
        name: "zstd",
        package: "libzstd",
        needs: &["make"],
        build: &[&["make", "-C", "programs", "-j2", "ZSTD_LEGACY_SUPPORT=0", "HAVE_LZMA=0", "zstd"]],
        flags: "",
        share: 2,
        steps: &[
            Step {
                name: "zstd",
                words: &["source/programs/zstd", "-3", "-T{threads}", "-B524288", "-k", "-c", "{input}"],
                output: "input.zst",
                product: Product::Same,
            },
            Step {
                name: "zstd-d",
                words: &["source/programs/zstd", "-d", "-k", "-c", "input.zst"],
                output: "input.out",
                product: Product::Input,
            },
        ],
    },
    Program {
        name: "leveldb",
        package: "leveldb",
        needs: &["cmake", "make", "libgtest-dev", "libgmock-dev"],
        build: &[
            &["cmake", "-B", "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DLEVELDB_BUILD_TESTS=OFF", "."],
            &["make", "-C", "build", "-j2", "db_bench"],
        ],
        flags: "",
        share: 0,
        steps: &[Step {
            name: "db_bench",
            words: &[
                "source/build/db_bench",
                "--benchmarks=fillrandom,readrandom",
                "--num=30000",
                "--threads={threads}",
                "--write_buffer_size=1048576",
                "--db=database",
            ],
            output: "db_bench.out",
            product: Product::Found,
        }],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_found_counts() {
        let output = b"fillrandom   :  5.1 micros/op;\nreadrandom   :  2.7 micros/op; (632 of 1000 found)\n";
        assert_eq!(found(output), b"632 of 1000 found)");
    }

    #[test]
    fn every_program_has_a_way_to_be_judged() {
        for program in PROGRAMS {
            assert!(!program.build.is_empty() && !program.steps.is_empty(), "{}", program.name);
            let reads_input = program.steps.iter().any(|step| step.words.contains(&"{input}"));
            assert_eq!(reads_input, program.share > 0, "{}", program.name);
        }
    }
}
