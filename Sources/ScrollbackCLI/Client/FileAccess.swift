import Foundation
import ScrollbackModel

/// Whether permissions keep the current user from a file or directory, or from a directory on its path.
///
/// - Parameter mode: The kinds of access, such as `R_OK | X_OK`.
func isDenied(_ file: URL, _ mode: Int32 = R_OK) -> Bool { access(file.path, mode) != 0 && errno == EACCES }

/// Checks that permissions allow the current user to open a directory and some of its files.
///
/// - Parameters:
///   - files: The names of the files, which need not exist.
///   - mode: The kinds of access to the directory and the files, besides the search of the directory.
///   - parameter: The name of the option that names the directory.
/// - Throws: `invalid-parameter` with the path that the user can't open.
func checkAccess(
    to directory: URL, _ files: [String], _ mode: Int32 = R_OK, parameter: String
) throws(ChatError) {
    let denied =
        isDenied(directory, mode | X_OK)
        ? directory : files.map { directory.appending(component: $0) }.first { isDenied($0, mode) }
    guard let denied else { return }
    throw .invalidParameter(
        parameter,
        "can't be opened by the current user (\(denied.path)). Run the command as the user of the server, for example "
            + "with sudo -u USER")
}
