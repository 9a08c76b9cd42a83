import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPictures
import Synchronization
import Testing

@Suite("Bounds for reading picture headers")
struct PictureBoundsTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    @Test("An image of too many parts is refused within the limit of steps", arguments: PictureBomb.allCases)
    func image(_ bomb: PictureBomb) {
        let steps = PictureSteps()
        let refusal = refusal { _ = try MediaProperties(of: bomb.file(bytes: 4 << 20), for: .image, steps: steps) }
        #expect(refusal?.code == .invalidMedia && refusal?.parameter == "type")
        #expect(refusal?.message.contains("too many parts") == true)
        #expect(steps.count <= PictureSteps.standardLimit)
    }

    @Test("Only the first MiB of a plain file is searched for an image, within the limit of steps")
    func plainFile() throws {
        for bomb in PictureBomb.allCases {
            let steps = PictureSteps()
            _ = try MediaProperties(of: bomb.file(bytes: 4 << 20), for: .file, steps: steps)
            #expect(steps.count <= PictureSteps.standardLimit)
        }
        // These files have one step for each two bytes.
        for bomb in [PictureBomb.jpegData, .gifPieces] {
            let steps = PictureSteps(limit: .max)
            _ = try MediaProperties(of: bomb.file(bytes: 4 << 20), for: .file, steps: steps)
            #expect(abs(steps.count - (1 << 19)) < 200)
        }
    }

    @Test("The size of a large image that was uploaded as a plain file is known from its first MiB")
    func largeImage() throws {
        for bytes in [1000, 3 << 20] {
            let image = Data(SampleFile.png(40, 30, content: bytes))
            #expect(try MediaProperties(of: image, for: .file).pixels == Media.Size(width: 40, height: 30))
        }
    }

    @Test("A large file of boxes can be uploaded as a plain file but not as an image")
    func upload() async throws {
        let bytes = Array(PictureBomb.heifBoxes.file(bytes: 4 << 20))
        let file = try await harness.upload(bytes, as: .file, to: group, by: "alice")
        #expect(file.mediaType == "image/heic" && file.size == Int64(bytes.count))
        #expect(
            await refused { try await harness.upload(bytes, as: .image, to: group, by: "alice") }?.code == .invalidMedia
        )
        // The metric has both, because the plain file's header was not read to its end either.
        #expect(harness.engine.mediaCounts.pictureStepLimits.load(ordering: .relaxed) == 2)
        _ = try await harness.upload(SampleFile.png(40, 30), as: .image, to: group, by: "alice")
        #expect(harness.engine.mediaCounts.pictureStepLimits.load(ordering: .relaxed) == 2)
    }
}
