//! The rules on small lock files and policies.

use super::*;

const BASE: &str = r#"
[licenses]
allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]
fuzzing = ["NCSA"]
[core-dependencies]
[advisories]
checked = "2026-01-02"
database = "2026-01-01"
accepted = {}
refused = {}
[duplicates]
"#;

/// Packages as `name version`, all from the registry and under MIT.
fn metadata(packages: &[&str]) -> CargoMetadata {
    let package = |line: &&str| {
        let (name, version) = line.split_once(' ').unwrap();
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some("MIT".to_owned()),
            source: Some(REGISTRY.to_owned()),
            manifest_path: "/registry".into(),
            dependencies: Vec::new(),
        }
    };
    CargoMetadata { packages: packages.iter().map(package).collect() }
}

fn shown(problems: &[RuleViolation]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check_licence(expression: &str, allowed: bool, allowed_for_fuzzing: bool) {
    let policy = Policy::parse(BASE).unwrap();
    let judge = |licences: Licences| licences.judge(Some(expression)).is_ok();
    let verdict =
        (judge(policy.licences().unwrap()), judge(policy.licences_for_fuzzing().unwrap()));
    assert_eq!(verdict, (allowed, allowed_for_fuzzing), "{expression}");
}

#[test]
fn one_allowed_choice_is_enough_and_every_duty_counts() {
    check_licence("MIT", true, true);
    check_licence("MIT/Apache-2.0", true, true);
    check_licence("MIT OR GPL-3.0-only", true, true);
    check_licence("MIT AND GPL-3.0-only", false, false);
    check_licence("(MIT OR Apache-2.0) AND Unicode-3.0", true, true);
    check_licence("(MIT OR Apache-2.0) AND NCSA", false, true);
    check_licence("Apache-2.0 WITH LLVM-exception", true, true);
    check_licence("GPL-3.0-only", false, false);
    check_licence("my own", false, false);
}

#[test]
fn a_package_needs_a_licence_and_a_known_source() {
    let licences = Policy::parse(BASE).unwrap().licences().unwrap();
    let check = |metadata: &CargoMetadata| {
        shown(&packages(metadata, "Cargo.lock", Path::new("/repository"), &licences))
    };
    let mut one = metadata(&["a 1.0.0"]);
    assert_eq!(check(&one), "");

    one.packages[0].license = None;
    assert_eq!(check(&one), "Cargo.lock: a 1.0.0: it names no licence");

    let mut one = metadata(&["a 1.0.0"]);
    one.packages[0].source = Some("git+https://example.org/a".to_owned());
    let expected = "Cargo.lock: a 1.0.0 comes from git+https://example.org/a; \
                    only the registry is allowed";
    assert_eq!(check(&one), expected);

    one.packages[0].source = None;
    assert!(check(&one).contains("a folder outside the repository"));
    one.packages[0].manifest_path = "/repository/crates/a/Cargo.toml".into();
    assert_eq!(check(&one), "");
}

#[test]
fn incompatible_versions_need_a_reason() {
    let listed = |line: &str| Policy::parse(&format!("{BASE}{line}\n")).unwrap();
    let check = |lines: &[&str], policy: &Policy| shown(&duplicates(&metadata(lines), policy));
    let none = listed("");
    assert_eq!(check(&["a 1.0.0", "a 1.9.0", "b 0.8.1"], &none), "");
    assert!(check(&["a 1.0.0", "a 2.0.0"], &none).contains("a is here in versions 1 and 2"));
    assert!(check(&["a 0.8.1", "a 0.9.0"], &none).contains("a is here in versions 0.8 and 0.9"));

    let one = listed(r#"a = { versions = ["1", "2"], reason = "two users" }"#);
    assert_eq!(check(&["a 1.0.0", "a 2.0.0"], &one), "");
    assert!(check(&["a 1.0.0", "a 2.0.0", "a 3.0.0"], &one).contains("1 and 2 and 3"));
    assert!(check(&["a 1.0.0"], &one).contains("a is here once"));
}

#[test]
fn compatibility_is_judged_by_the_first_number_that_is_not_zero() {
    for (version, expected) in
        [("1.2.3", "1"), ("0.8.1", "0.8"), ("0.0.3", "0.0.3"), ("0.0.0", "0.0.0"), ("1.1.5+x", "1")]
    {
        assert_eq!(compatible_version(version), expected, "{version}");
    }
}

#[test]
fn the_core_says_why_it_needs_each_dependency() {
    let text = r#"{"packages": [{
        "name": "haversack-core", "version": "0.1.0", "license": "Apache-2.0", "source": null,
        "manifest_path": "/repository/crates/haversack-core/Cargo.toml",
        "dependencies": [
            {"name": "libm", "kind": null}, {"name": "jiff", "kind": null},
            {"name": "proptest", "kind": "dev"}, {"name": "cc", "kind": "build"}
        ]}]}"#;
    let metadata = CargoMetadata::parse(text).unwrap();
    let list = "[core-dependencies]\nlibm = \"same bits everywhere\"\nold = \"gone\"\n";
    let policy = Policy::parse(&BASE.replace("[core-dependencies]\n", list)).unwrap();
    let expected = "deps.toml: haversack-core depends on jiff: \
                    list it in [core-dependencies] with a reason\n\
                    deps.toml: haversack-core no longer depends on old: \
                    remove it from [core-dependencies]";
    assert_eq!(shown(&core_dependencies(&metadata, &policy)), expected);
}

#[test]
fn a_policy_has_no_blanks() {
    let blank = BASE.replace("[core-dependencies]\n", "[core-dependencies]\nlibm = \" \"\n");
    let error = Policy::parse(&blank).unwrap_err();
    assert_eq!(error.to_string(), "deps.toml gives no reason for libm");
    assert!(Policy::parse(&format!("{BASE}[more]\n")).is_err());
    let wrong = BASE.replace("\"MIT\"", "\"mit-ish\"");
    assert!(Policy::parse(&wrong).unwrap().licences().is_err());
}

#[test]
fn refused_packages_stay_out_and_accepted_advisories_are_of_packages_that_are_there() {
    let accepted = "accepted = { A-1 = { crate = \"old\", reason = \"r\" } }";
    let refused = "refused = { bad = \"A-2: why\" }";
    let text = BASE.replace("accepted = {}", accepted).replace("refused = {}", refused);
    let policy = Policy::parse(&text).unwrap();
    let check = |lines: &[&str], more: &[&str]| {
        shown(&advisories([&metadata(lines), &metadata(more)], &policy))
    };
    assert_eq!(check(&["old 1.0.0"], &[]), "");
    assert_eq!(check(&[], &["old 1.0.0"]), "");
    let gone = "deps.toml: old is gone: remove A-1 from [advisories.accepted]";
    assert_eq!(check(&[], &[]), gone);
    let back = "deps.toml: bad is refused (A-2: why): find another way";
    assert_eq!(check(&["old 1.0.0"], &["bad 2.0.0"]), back);
    let blank = text.replace("\"r\"", "\" \"");
    assert!(Policy::parse(&blank).unwrap_err().to_string().contains("no reason for A-1"));
}
