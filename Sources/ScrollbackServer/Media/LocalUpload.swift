import Foundation
import ScrollbackEngine
import ScrollbackModel

/// An upload in a local file, which is encrypted if the server has keys.
protocol LocalUpload: UploadFile {
    /// Reads up to `count` of the appended bytes at an offset.
    ///
    /// It can return fewer, but none only at the end.
    func read(at offset: Int64, count: Int) throws(ChatError) -> [UInt8]
    /// Completes the file with all appended bytes.
    ///
    /// - Parameter name: The name under which an encrypted file can be decrypted.
    /// - Returns: The file and its length in bytes.
    func complete(named name: String) throws(ChatError) -> (file: URL, length: Int64)
}

extension DiskUpload: LocalUpload {
    func read(at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        try DurableFile.read(openDescriptor, at: offset, count: count)
    }

    func complete(named name: String) -> (file: URL, length: Int64) {
        (file, Int64(lseek(openDescriptor, 0, SEEK_END)))
    }
}
