//! The address of a PostgreSQL database: parsed once, and shown without its password.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::DatabaseError;

/// How a connection is encrypted, as in libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Not at all.
    Disable,
    /// If the server can; its certificate is not verified. The default.
    Prefer,
    /// Always; the certificate is not verified, unless the address names a root certificate.
    Require,
    /// Always, and a known authority must have signed the certificate.
    VerifyAuthority,
    /// As before, and the certificate must be for this host.
    VerifyFull,
}

impl TlsMode {
    fn parse(text: &str) -> Option<TlsMode> {
        Some(match text {
            "disable" => TlsMode::Disable,
            "allow" | "prefer" => TlsMode::Prefer,
            "require" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyAuthority,
            "verify-full" => TlsMode::VerifyFull,
            _ => return None,
        })
    }
}

/// The address of a PostgreSQL database.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Box<Config>,
    pub(super) tls: TlsMode,
    /// A file of root certificates in place of the system's.
    pub(super) root_certificates: Option<PathBuf>,
}

impl PostgresAddress {
    /// Parses what follows the scheme. The password is used if there is none.
    pub(crate) fn parse(
        rest: &str,
        password: Option<&str>,
    ) -> Result<PostgresAddress, DatabaseError> {
        let (base, parameters) = split_parameters(rest)?;
        let (mut tls, mut root_certificates, mut others) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "sslmode" => {
                    let unknown = || {
                        invalid(
                            "sslmode is disable, prefer, require, verify-ca or verify-full".into(),
                        )
                    };
                    tls = Some(TlsMode::parse(value).ok_or_else(unknown)?);
                }
                "sslrootcert" => root_certificates = Some(decode(value)?),
                _ => others.push(parameter),
            }
        }
        let url = match others.is_empty() {
            true => format!("postgres://{base}"),
            false => format!("postgres://{base}?{}", others.join("&")),
        };
        // Its message could repeat a part of the address.
        let form = "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, or check its options";
        let config: Config = url.parse().map_err(|_| invalid(form.into()))?;
        let mut config = Box::new(config);
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }
        if let Some(password) = password.filter(|_| config.get_password().is_none()) {
            config.password(password);
        }
        if config.get_application_name().is_none() {
            config.application_name("haversack");
        }
        let tls = match (tls.unwrap_or(TlsMode::Prefer), &root_certificates) {
            // As in libpq: who names an authority wants it to be asked.
            (TlsMode::Require, Some(_)) => TlsMode::VerifyAuthority,
            (tls, _) => tls,
        };
        config.ssl_mode(match tls {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyAuthority | TlsMode::VerifyFull => SslMode::Require,
        });
        Ok(PostgresAddress { config, tls, root_certificates })
    }

    /// The name of the database; by default it is the user's.
    #[must_use]
    pub fn database(&self) -> &str {
        self.config.get_dbname().or_else(|| self.config.get_user()).unwrap_or("postgres")
    }

    /// Server and database, without the user.
    #[must_use]
    pub fn identity(&self) -> String {
        format!("postgres://{}/{}", self.servers(), self.database())
    }

    /// The same server and database under another name in its list of connections.
    #[must_use]
    pub fn with_application_name(mut self, name: &str) -> PostgresAddress {
        self.config.application_name(name);
        self
    }

    /// Whether it holds a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// The hosts with their ports.
    fn servers(&self) -> String {
        let ports = self.config.get_ports();
        let port = |index: usize| ports.get(index).or_else(|| ports.first()).copied();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(index, host)| {
            let host = match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            };
            format!("{host}:{}", port(index).unwrap_or(5432))
        });
        let mut hosts: Vec<String> = hosts.collect();
        if hosts.is_empty() {
            hosts.extend(self.config.get_hostaddrs().iter().map(ToString::to_string));
        }
        hosts.join(",")
    }
}

/// The address before its parameters, and the parameters. A password may hold a question mark.
fn split_parameters(rest: &str) -> Result<(&str, &str), DatabaseError> {
    let host = rest.find('@').map_or(0, |at| at + 1);
    let (base, parameters) = match rest[host..].find('?') {
        Some(end) => (&rest[..host + end], &rest[host + end + 1..]),
        None => (rest, ""),
    };
    // A password with an unescaped @ would leave its end in the host's name, which messages show.
    if base[host..].contains('@') {
        return Err(invalid("write an @ in the user or password as %40".into()));
    }
    Ok((base, parameters))
}

fn decode(value: &str) -> Result<PathBuf, DatabaseError> {
    let decoded = percent_decode_str(value).decode_utf8();
    let decoded = decoded.map_err(|_| invalid("sslrootcert is not UTF-8".into()))?;
    Ok(PathBuf::from(decoded.into_owned()))
}

const fn invalid(message: String) -> DatabaseError {
    DatabaseError::Address { message }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        write!(f, "{}/{}", self.servers(), self.database())
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresAddress")
            .field("address", &self.to_string())
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> Result<PostgresAddress, DatabaseError> {
        PostgresAddress::parse(rest, None)
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (rest, shown, identity) in [
            ("anna:hunter2@db.example:6432/shop", "anna@db.example:6432", "db.example:6432"),
            (
                "anna:hun/ter2?@db.example/shop?sslmode=require",
                "anna@db.example:5432",
                "db.example:5432",
            ),
            ("anna@a:1,b:2/shop?password=hunter2", "anna@a:1,b:2", "a:1,b:2"),
            ("anna@/shop?host=/run/pg", "anna@/run/pg:5432", "/run/pg:5432"),
        ] {
            let address = parse(rest).unwrap();
            assert_eq!(address.to_string(), format!("postgres://{shown}/shop"));
            assert_eq!(address.identity(), format!("postgres://{identity}/shop"));
            assert!(!format!("{address:?}").contains("ter2"), "{address:?}");
        }
    }

    #[test]
    fn a_password_from_elsewhere_does_not_replace_one_in_the_address() {
        let given = PostgresAddress::parse("a@h/d", Some("x")).unwrap();
        assert_eq!(given.config.get_password(), Some(&b"x"[..]));
        let own = PostgresAddress::parse("a:y@h/d", Some("x")).unwrap();
        assert_eq!(own.config.get_password(), Some(&b"y"[..]));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_address() {
        for rest in [
            "a:hunt@hunter2@h/d",
            "a:hunter2@h:port/d",
            "a:hunter2@h/d?sslmode=x",
            "a:hunter2@h/d?x=y",
        ] {
            let error = parse(rest).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_modes_of_tls_are_those_of_libpq() {
        for (parameters, mode) in [
            ("", TlsMode::Prefer),
            ("?sslmode=disable", TlsMode::Disable),
            ("?sslmode=require", TlsMode::Require),
            ("?sslmode=require&sslrootcert=%2Fetc%2Fca.pem", TlsMode::VerifyAuthority),
            ("?sslmode=verify-full&connect_timeout=3", TlsMode::VerifyFull),
        ] {
            assert_eq!(parse(&format!("a@h/d{parameters}")).unwrap().tls, mode, "{parameters}");
        }
    }
}
