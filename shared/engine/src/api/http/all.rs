//! Several readings at once.

use super::problem::Problem;

macro_rules! all {
    ($($value:ident)+) => {
        #[expect(non_snake_case, reason = "the names of the types are those of the values")]
        impl<$($value),+> All for ($(Result<$value, Problem>,)+) {
            type Values = ($($value,)+);

            fn all(self) -> Result<Self::Values, Problem> {
                match self {
                    ($(Ok($value),)+) => Ok(($($value,)+)),
                    ($($value,)+) => {
                        Err(Problem::merged([$($value.err()),+].into_iter().flatten()))
                    }
                }
            }
        }
    };
}
all!(A B);
all!(A B C);
all!(A B C D);
all!(A B C D E);
all!(A B C D E F);
all!(A B C D E F G);
all!(A B C D E F G H);

/// Several readings, all of them made before any is refused: a caller is told every problem at once.
pub(super) trait All {
    type Values;

    /// The values, or the problems of all readings that failed.
    fn all(self) -> Result<Self::Values, Problem>;
}
