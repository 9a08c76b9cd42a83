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

    /// The object ID of the type of arrays of this type.
    var array: UInt32 {
        switch self {
        case .flag: 1000
        case .bytes: 1001
        case .integer: 1016
        case .text: 1009
        case .number: 1022
        case .uuid: 2951
        }
    }
}
