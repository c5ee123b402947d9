//! The hash behind `H`. A schedule gets the same minute on every machine and in every release.

use crate::error::Field;

/// Hashes a schedule and a field to a number. The numbers are spread evenly and never change.
///
/// The hash is FNV-1a (64 bit) over the seed, a separator byte that no text contains, and the
/// field's name. The finalizer of MurmurHash3 follows, because the low bits of FNV are too regular
/// to take a remainder of. The hash is written out here because the hashers of the standard library
/// may change between releases. Such a change would move every `H` schedule to another minute.
pub(crate) fn stable_hash(seed: &str, field: Field) -> u64 {
    let bytes = seed.bytes().chain([0xff]).chain(field.name().bytes());
    let fnv = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_never_changes() {
        // These numbers must not change: a different number moves schedules that already run.
        let minutes: Vec<u64> =
            ["a", "nightly-report", "sched_01"].map(|s| stable_hash(s, Field::Minute) % 60).into();
        assert_eq!(minutes, [59, 7, 42]);
    }

    #[test]
    fn fields_and_seeds_are_independent_and_evenly_spread() {
        let mut seen = [0_u32; 60];
        for n in 0..6000 {
            let seed = format!("schedule-{n}");
            seen[(stable_hash(&seed, Field::Minute) % 60) as usize] += 1;
            assert_ne!(stable_hash(&seed, Field::Minute), stable_hash(&seed, Field::Hour));
        }
        assert!(seen.iter().all(|&n| (60..=150).contains(&n)), "{seen:?}");
    }
}
