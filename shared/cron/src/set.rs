//! A set of field values, as bits. It is small enough to copy.

use crate::error::Field;

/// The values that one field allows, as bits. Bit zero is the value 0, and for years it is 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set([u64; 4]);

impl Set {
    pub(crate) fn full(field: Field) -> Set {
        (field.min()..=field.max()).map(|value| value - base(field)).collect()
    }

    pub(crate) fn insert(&mut self, index: u32) {
        if let Some(word) = self.0.get_mut(index as usize / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        self.0.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    pub(crate) fn union(&self, other: Set) -> Set {
        Set(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub(crate) fn intersection(&self, other: Set) -> Set {
        Set(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..256).filter(|&index| self.contains(index))
    }
}

impl FromIterator<u32> for Set {
    fn from_iter<I: IntoIterator<Item = u32>>(indices: I) -> Set {
        let mut set = Set::default();
        indices.into_iter().for_each(|index| set.insert(index));
        set
    }
}

/// The value that bit zero stands for in a field's set.
pub(crate) const fn base(field: Field) -> u32 {
    match field {
        Field::Year => 1970,
        _ => 0,
    }
}
