/// The type of a parameter or column.
///
/// The raw values are PostgreSQL's constant object IDs.
enum PostgresType: UInt32 {
    case flag = 16
    /// A text that may be encrypted, or another value as its bytes.
    case bytes = 17
    case integer = 20
    case text = 25
    case number = 701
    case uuid = 2950
}
