//! The number of connections that fits the file descriptors of the process.

use haversack_store::descriptors;

use super::Limits;

/// File descriptors for what is neither a connection of a client nor an open workspace: writes under
/// way, connections to models, logs.
const DESCRIPTORS_SPARE: usize = 1_024;

/// The connections that are accepted: fewer than the settings say where the process may have too few
/// file descriptors for them and for the workspaces.
pub(crate) fn connections_max(limits: &Limits) -> usize {
    let Some(limit) = descriptors::limit() else { return limits.connections };
    let most = connections_within(limits, usize::try_from(limit).unwrap_or(usize::MAX));
    if most < limits.connections {
        tracing::warn!(
            target: "haversack", limit, connections = most,
            "the limit of open files is too low for limits.connections: fewer are accepted"
        );
    }
    most
}

fn connections_within(limits: &Limits, descriptors_max: usize) -> usize {
    let of_workspaces = limits.open_workspaces.saturating_mul(descriptors::PER_WORKSPACE);
    let others = of_workspaces.saturating_add(DESCRIPTORS_SPARE).min(descriptors_max / 2);
    descriptors_max.saturating_sub(others).clamp(1, limits.connections.max(1))
}

#[cfg(test)]
mod tests {
    use super::{Limits, connections_within};

    #[test]
    fn connections_leave_descriptors_for_workspaces() {
        let limits = Limits { connections: 12_000, open_workspaces: 256, ..Limits::default() };
        for (descriptors_max, expected) in
            [(1_024, 512), (4_096, 2_048), (16_384, 12_000), (1_000_000, 12_000), (1, 1)]
        {
            assert_eq!(connections_within(&limits, descriptors_max), expected, "{descriptors_max}");
        }
    }
}
