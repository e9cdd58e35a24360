//! `docs/analyses.md` says of each analysis what the registry says.

use std::path::Path;

use deadheat_detect::{ANALYSES, registry};

#[test]
fn analyses_are_documented_as_registered() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analyses.md");
    let Ok(text) = std::fs::read_to_string(&file) else {
        // An archive of this crate alone does not carry it.
        return println!("skipped: needs docs/analyses.md");
    };
    let chapters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).collect();
    let names: Vec<&str> = ANALYSES.iter().map(|analysis| analysis.name).collect();
    assert_eq!(chapters, names, "one chapter an analysis, in the registry's order");
    for analysis in registry::all() {
        let level = if analysis.name.contains('=') { "###" } else { "##" };
        let chapter = format!(
            "{level} `{}`\n\n{}\n\n- **Promise.** {}\n- **Paper.** {}\n",
            analysis.name, analysis.doc, analysis.promise, analysis.paper
        );
        assert!(text.contains(&chapter), "docs/analyses.md has to say:\n{chapter}");
        let row = format!("| `{}` | {} |\n", analysis.name, analysis.ill_formed);
        assert!(text.contains(&row), "docs/analyses.md has to say:\n{row}");
    }
}
