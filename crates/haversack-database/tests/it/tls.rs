//! Encryption as the address asks for it: not at all, unverified, by authority, by name.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::PostgresServer;

use crate::{all, firsts, open, rows};

/// An authority and a certificate of it for `localhost`, made by the openssl that comes with PostgreSQL.
fn make_certificates(folder: &Path) {
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for authority in ["ca", "other"] {
        let (key, certificate) = (format!("{authority}.key"), format!("{authority}.pem"));
        openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=test authority",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ]);
    }
    openssl(&[
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "server.key",
        "-out",
        "server.csr",
    ]);
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(&[
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "names",
        "-out",
        "server.pem",
    ]);
}

#[test]
fn certificates_are_verified_as_far_as_the_address_asks() {
    let Some(server) = PostgresServer::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    for file in ["server.pem", "server.key"] {
        server.put_file(file, &fs::read(folder.path().join(file)).unwrap());
    }
    server.configure("ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n");
    let by_ip = server.address("postgres");
    let by_name = by_ip.replace("127.0.0.1", "localhost");
    let authority = folder.path().join("ca.pem").display().to_string().replace('/', "%2F");
    let other = authority.replace("ca.pem", "other.pem");
    // The address, its parameters, and whether the connection is encrypted; None when it must fail.
    for (address, parameters, is_encrypted) in [
        (&by_name, "sslmode=disable".to_owned(), Some("false")),
        (&by_name, "sslmode=prefer".to_owned(), Some("true")),
        (&by_name, "sslmode=require".to_owned(), Some("true")),
        (&by_name, format!("sslmode=verify-full&sslrootcert={authority}"), Some("true")),
        (&by_ip, format!("sslmode=verify-ca&sslrootcert={authority}"), Some("true")),
        (&by_ip, format!("sslmode=require&sslrootcert={authority}"), Some("true")),
        (&by_ip, format!("sslmode=verify-full&sslrootcert={authority}"), None),
        (&by_name, format!("sslmode=verify-ca&sslrootcert={other}"), None),
        (&by_name, format!("sslmode=verify-full&sslrootcert={other}"), None),
        (&by_name, "sslmode=verify-full".to_owned(), None),
        (&by_name, "sslmode=verify-full&sslrootcert=missing.pem".to_owned(), None),
    ] {
        let opened = open(&format!("{address}?{parameters}"));
        let Some(is_encrypted) = is_encrypted else {
            assert!(opened.is_err(), "{parameters}");
            continue;
        };
        let sql = "select ssl::text as v, pid as id from pg_stat_ssl where pid = pg_backend_pid()";
        let found = rows(&mut opened.unwrap(), &all(sql)).unwrap();
        assert_eq!(firsts(&found), [is_encrypted], "{parameters}");
    }
}
