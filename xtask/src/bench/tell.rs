//! Comparisons as tables.

use serde_json::Value;

use super::compare::{Comparison, Manner, each};
use super::statistic::{Quartiles, geometric_mean};
use super::table::{Table, mebibytes, millions, short, spread};
use super::valgrind;
use super::{Outcome, Stop};

/// Prints the tables, those of each number of threads by themselves.
pub(crate) fn print(mut comparisons: Vec<Comparison>, manner: Manner) {
    comparisons.sort_by_key(|comparison| comparison.threads);
    for group in comparisons.chunk_by(|a, b| a.threads == b.threads) {
        println!("{} threads:\n", group[0].threads);
        println!("{}", costs(group));
        if manner.valgrind > 0 {
            println!("{}", valgrind::table(group));
        }
        println!("{}", if manner.online { races(group) } else { contents(group) });
        if manner.off {
            println!("{}", off(group));
        }
    }
}

/// Time and memory of each way to run.
fn costs(comparisons: &[Comparison]) -> String {
    let mut table = Table::new(&[
        "program",
        "native, CPU s",
        "TSan / native, CPU",
        "deadheat / native, CPU",
        "deadheat / TSan, CPU",
        "deadheat / TSan, elapsed",
        "peak MiB: native, TSan, deadheat",
        "deadheat / TSan, peak",
    ]);
    let mut means = [const { Vec::new() }; 5];
    for c in comparisons {
        let ratios = [
            Comparison::cpu_ratio(&c.tsan, &c.native),
            Comparison::cpu_ratio(&c.record, &c.native),
            Comparison::cpu_ratio(&c.record, &c.tsan),
            Comparison::elapsed_ratio(&c.record, &c.tsan),
            Comparison::peak_ratio(&c.record, &c.tsan),
        ];
        for (mean, ratio) in means.iter_mut().zip(ratios) {
            mean.push(ratio.median);
        }
        let native = Quartiles::of(each(&c.native, |cost| cost.cpu)).median;
        let peaks = [&c.native, &c.tsan, &c.record]
            .map(|costs| mebibytes(Quartiles::of(each(costs, |cost| cost.peak)).median));
        let mut row = vec![c.name.clone(), short(native)];
        let [times @ .., peak] = ratios.map(spread);
        row.extend(times);
        row.extend([peaks.join(", "), peak]);
        table.row(row);
    }
    let mut row = vec!["geometric mean".to_owned(), String::new()];
    row.extend(means.iter().map(|ratios| format!("**{}**", short(geometric_mean(ratios)))));
    // Absolute memory has no mean; the ratio after it has.
    row.insert(row.len() - 1, String::new());
    table.row(row);
    table.markdown()
}

/// What was found by tools that look while the program runs.
fn races(comparisons: &[Comparison]) -> String {
    let mut table = Table::new(&["program", "races: TSan, deadheat", "deadheat's that lack a stack"]);
    for c in comparisons {
        table.row(vec![c.name.clone(), format!("{}, {}", c.tsan_races, c.races), c.stackless.to_string()]);
    }
    table.markdown()
}

/// Fails if of the races that were told more than one in a hundred lack a stack.
pub(crate) fn check_stacks(comparisons: &[Comparison]) -> Outcome<()> {
    let sum = |figure: fn(&Comparison) -> usize| comparisons.iter().map(figure).sum::<usize>();
    let (races, stackless) = (sum(|c| c.races), sum(|c| c.stackless));
    if stackless * 100 > races {
        return Err(Stop::failed(format!("{stackless} of {races} races lack a stack, more than 1 in 100")));
    }
    Ok(())
}

/// What was recorded and found, and what judging it costs.
fn contents(comparisons: &[Comparison]) -> String {
    let mut table = Table::new(&[
        "program",
        "accesses, M",
        "records, M",
        "trace, MB",
        "bytes an access",
        "`hb`: M records / CPU s",
        "`hb`: peak MiB",
        "races: TSan, deadheat",
    ]);
    for c in comparisons {
        let content = c.content();
        table.row(vec![
            c.name.clone(),
            millions(content.accesses),
            millions(content.events),
            short(content.bytes as f64 / 1e6),
            short(content.bytes_per_access()),
            short(c.judged_per_second().median / 1e6),
            mebibytes(Quartiles::of(each(&c.analysis, |cost| cost.peak)).median),
            format!("{}, {}", c.tsan_races, c.races),
        ]);
    }
    table.markdown()
}

/// What hooks cost that only return.
fn off(comparisons: &[Comparison]) -> String {
    let mut table = Table::new(&["program", "hooks off / native, CPU", "hooks off / native, elapsed"]);
    for c in comparisons {
        let (cpu, elapsed) =
            (Comparison::cpu_ratio(&c.off, &c.native), Comparison::elapsed_ratio(&c.off, &c.native));
        table.row(vec![c.name.clone(), spread(cpu), spread(elapsed)]);
    }
    table.markdown()
}

/// Everything as JSON.
pub(crate) fn json(comparisons: &[Comparison], provenance: Value) -> String {
    let all: Vec<Value> = comparisons.iter().map(Comparison::json).collect();
    let whole = serde_json::json!({"provenance": provenance, "comparisons": all});
    format!("{whole:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_race_in_a_hundred_may_lack_a_stack() {
        let of = |races, stackless| Comparison { races, stackless, ..Comparison::default() };
        assert!(check_stacks(&[of(0, 0)]).is_ok() && check_stacks(&[of(60, 1), of(40, 0)]).is_ok());
        assert!(check_stacks(&[of(60, 1), of(39, 0)]).is_err() && check_stacks(&[of(1, 1)]).is_err());
    }
}
