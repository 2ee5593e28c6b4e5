//! Settings as they are read and judged.

use super::*;

fn read(file: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haversack.toml");
    std::fs::write(&path, file).unwrap();
    let environment =
        environment.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    Config::read(Some(&path), &environment).map_err(|error| error.to_string())
}

#[test]
fn the_environment_stands_over_the_file_and_the_file_over_defaults() {
    let config = read(
        "[server]\nlisten = \"0.0.0.0:80\"\n[limits]\nqueue = 5\nconcurrent = 7\n",
        &[
            ("HAVERSACK_LIMITS_QUEUE", "9"),
            ("HAVERSACK_SERVER_HOSTS", "a.example, b.example"),
            ("HAVERSACK_DATA", "/elsewhere"),
        ],
    )
    .unwrap();
    assert_eq!(config.limits.queue, 9);
    assert_eq!(config.limits.concurrent, 7);
    assert_eq!(config.limits.connections, Limits::default().connections);
    assert_eq!(config.server.hosts, ["a.example", "b.example"]);
}

/// Behind a proxy on this machine, everybody comes from this machine.
#[test]
fn keys_are_needed_as_soon_as_anything_says_that_others_reach_the_server() {
    let check = |file: &str, expected: bool| {
        assert_eq!(read(file, &[]).unwrap().needs_keys(), expected, "{file:?}");
    };
    check("", false);
    check("[server]\nlisten = \"[::1]:80\"", false);
    check("[server]\norigins = [\"https://app.example\"]", false);
    check("[server]\nlisten = \"0.0.0.0:80\"", true);
    check("[server]\nhosts = [\"context.example\"]", true);
    check("[server]\nurl = \"https://context.example\"", true);
    check("[jwt]\nissuer = \"https://login.example\"", true);
    check("[server]\nauth = \"keys\"", true);
    check("[server]\nauth = \"off\"\nhosts = [\"context.example\"]", false);
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    let wrong = read("[limits]\nquue = 5\n", &[]).unwrap_err();
    assert!(wrong.contains("quue") && wrong.contains("line 2"), "{wrong}");
    let wrong = read("", &[("HAVERSACK_LIMITS_QUEUE", "many")]).unwrap_err();
    assert!(wrong.starts_with("HAVERSACK_LIMITS_QUEUE: "), "{wrong}");
    let check = |name: &str, nearest: &str| {
        let wrong = read("", &[(name, "1")]).unwrap_err();
        assert_eq!(wrong, format!("{name}: is not known; did you mean {nearest}?"));
    };
    check("HAVERSACK_LIMITS_QUUE", "HAVERSACK_LIMITS_QUEUE");
    check("HAVERSACK_SERVR_AUTH", "HAVERSACK_SERVER_AUTH");
    check("HAVERSACK_SERVERAUTH", "HAVERSACK_SERVER_AUTH");
    check("HAVERSACK_JWT_ISUER", "HAVERSACK_JWT_ISSUER");
    check("HAVERSACK_DAT", "HAVERSACK_DATA");
    let far = read("", &[("HAVERSACK_A_LONG_NAME_OF_NOTHING_THAT_THERE_IS", "1")]).unwrap_err();
    assert!(far.ends_with("is not known; `haversack config check` shows all settings"), "{far}");
}

#[test]
fn signed_tokens_can_be_configured_by_the_environment() {
    let config = read(
        "[jwt]\nissuer = \"https://a.example\"\naudience = \"b\"\n",
        &[("HAVERSACK_JWT_ISSUER", "https://c.example"), ("HAVERSACK_LOG_LEVEL", "warn")],
    );
    let jwt = config.unwrap().jwt.unwrap();
    assert_eq!((&*jwt.issuer, &*jwt.audience), ("https://c.example", "b"));
    let config = read("", &[("HAVERSACK_JWT_JWKS", "keys.json")]).unwrap();
    assert_eq!(config.jwt.unwrap(), Jwt { jwks: "keys.json".into(), ..Jwt::default() });
    let config = read("", &[("HAVERSACK_JWT_MODEL_TOKENS_PER_DAY", "5000")]).unwrap();
    assert_eq!(config.jwt.unwrap().model_tokens_per_day, Some(5_000));
    assert_eq!(read("", &[("HAVERSACK_LOG_LEVEL", "warn")]).unwrap().jwt, None);
}

#[test]
fn variables_of_others_are_left_to_them() {
    let others = [
        ("HAVERSACK_DATA", "/elsewhere"),
        ("HAVERSACK_CONFIG", "haversack.toml"),
        ("HAVERSACK_KEY", "hvs_1"),
        ("HAVERSACK_BENCH_SIZES", "10"),
        ("HAVERSACKS", "1"),
        ("PATH", "/bin"),
        // What Kubernetes tells of services named haversack and haversack-server.
        ("HAVERSACK_SERVICE_HOST", "10.0.0.1"),
        ("HAVERSACK_SERVICE_PORT_HTTP", "7077"),
        ("HAVERSACK_PORT", "tcp://10.0.0.1:7077"),
        ("HAVERSACK_PORT_7077_TCP", "tcp://10.0.0.1:7077"),
        ("HAVERSACK_SERVER_PORT_7077_TCP_ADDR", "10.0.0.1"),
        ("HAVERSACK_SERVER_SERVICE_HOST", "10.0.0.1"),
    ];
    assert_eq!(read("", &others).unwrap(), Config::default());
    for name in ["HAVERSACK_PORT", "HAVERSACK_SERVER_PORT"] {
        let wrong = read("", &[(name, "8080")]).unwrap_err();
        assert!(wrong.starts_with(&format!("{name}: is not known")), "{wrong}");
    }
}

#[test]
fn values_that_cannot_work_are_named() {
    let check = |file: &str, insecure: bool, expected: &str| {
        let checked = read(file, &[]).unwrap().check(insecure).map_err(|error| error.to_string());
        match checked {
            Ok(()) => assert_eq!("", expected, "{file:?}"),
            Err(message) => {
                assert!(!expected.is_empty() && message.starts_with(expected), "{message}")
            }
        }
    };
    check("", false, "");
    check("[limits]\nrate = nan", false, "limits.rate: ");
    for name in ["body_bytes", "stream_bytes", "batch_lines", "connections", "concurrent"] {
        check(&format!("[limits]\n{name} = 0"), false, &format!("limits.{name}: is 0"));
    }
    for name in ["head", "body", "write", "idle", "deadline"] {
        let expected = format!("limits.{name}_seconds: 0 is out of range: use 0.001 to 1,000,000");
        check(&format!("[limits]\n{name}_seconds = 0.0"), false, &expected);
    }
    check("[limits]\nqueue_seconds = 0.0\nshutdown_seconds = 0.0\nburst = 0.0", false, "");
    for url in ["context.example", "https://context.example/sub", "https://a@context.example"] {
        check(&format!("[server]\nurl = {url:?}"), false, "server.url: ");
    }
    check("[server]\nurl = \"https://context.example:8443\"", false, "");
    let open = "[server]\nlisten = \"0.0.0.0:80\"\nauth = \"off\"";
    check(open, false, "0.0.0.0:80 can be reached from other machines and no key is needed");
    check(open, true, "");
}

#[test]
fn keys_of_signers_are_looked_for_before_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let check = |jwks: &str, expected: &str| {
        let jwt =
            Jwt { jwks: jwks.into(), issuer: "a".into(), audience: "b".into(), ..Jwt::default() };
        let result = Config { jwt: Some(jwt), ..Config::default() }.check(false);
        let result = result.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(
            result.starts_with(expected) && result.is_empty() == expected.is_empty(),
            "{result}"
        );
    };
    let file = folder.path().join("keys.json");
    let named = file.to_str().unwrap();
    check("", "jwt.jwks: is missing");
    check(named, "jwt.jwks: the key set ");
    std::fs::write(&file, "").unwrap();
    check(named, &format!("jwt.jwks: {named} is not a JSON Web Key Set: "));
    std::fs::write(&file, "{\"keys\": []}").unwrap();
    check(named, "");
    check("https://login.example/keys", "");
}
