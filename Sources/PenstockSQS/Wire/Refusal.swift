import HTTPTypes
import Hummingbird
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// Why a request of a client of Amazon SQS is not done, by Amazon's names.
///
/// Clients of the JSON protocol read `__type`, and those that still go by the codes of the older protocol the header
/// `x-amzn-query-error`. Both are always there.
struct Refusal: Error {
    /// The name of the error in Amazon's model of the service.
    var type: String
    var message: String
    var status: HTTPResponse.Status = .badRequest
    /// Whether the request is at fault, and not the server.
    var isSendersFault = true

    init(_ type: String, _ message: String, status: HTTPResponse.Status = .badRequest, isSendersFault: Bool = true) {
        self.type = type
        self.message = message
        self.status = status
        self.isSendersFault = isSendersFault
    }

    /// The code of the older protocol.
    var code: String { Self.olderCodes[type] ?? type }

    var response: Response {
        let body = JSONValue.object(["__type": .string("com.amazonaws.sqs#" + type), "message": .string(message)])
        var response = Response.amazonJSON(body, status: status)
        response.headers[.queryError] = "\(code);\(isSendersFault ? "Sender" : "Receiver")"
        return response
    }

    private static let prefix = "AWS.SimpleQueueService."
    private static let olderCodes = [
        "BatchEntryIdsNotDistinct": prefix + "BatchEntryIdsNotDistinct",
        "BatchRequestTooLong": prefix + "BatchRequestTooLong",
        "EmptyBatchRequest": prefix + "EmptyBatchRequest",
        "InvalidBatchEntryId": prefix + "InvalidBatchEntryId",
        "MessageNotInflight": prefix + "MessageNotInflight",
        "QueueDeletedRecently": prefix + "QueueDeletedRecently",
        "QueueDoesNotExist": prefix + "NonExistentQueue",
        "QueueNameExists": "QueueAlreadyExists",
        "TooManyEntriesInBatchRequest": prefix + "TooManyEntriesInBatchRequest",
        "UnsupportedOperation": prefix + "UnsupportedOperation",
    ]
}

extension Refusal {
    static let unknownQueue = Refusal("QueueDoesNotExist", "The specified queue does not exist.")
    static let codedBody = Refusal(
        "SerializationException", "No Content-Encoding is undone here; send the body as it is.",
        status: .unsupportedMediaType)
    static let invalidHandle = Refusal("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")

    static func missing(_ parameter: String) -> Refusal {
        Refusal("MissingParameter", "The request must contain the parameter \(parameter).")
    }

    static func invalid(_ message: String) -> Refusal { Refusal("InvalidParameterValue", message) }

    /// Throws a refusal when the value of a parameter is out of its range.
    static func require(_ parameter: String, _ value: Int, in range: ClosedRange<Int>) throws(Refusal) {
        guard !range.contains(value) else { return }
        throw .invalid(
            "Value \(value) for parameter \(parameter) is invalid. Reason: Must be between \(range.lowerBound) and "
                + "\(range.upperBound), if provided.")
    }

    static func unsupported(_ message: String) -> Refusal { Refusal("UnsupportedOperation", message) }

    /// What an error of the store is to such a client. What may pass is a code after which its SDK tries again by itself.
    init(_ error: PenstockError) {
        switch error.toldToClients.code {
        case .unknownQueue, .queueDeleting: self = .unknownQueue
        case .invalidInput, .illegalTransition: self = .invalid(error.message)
        case .queueExists: self = Refusal("QueueNameExists", error.message)
        case .queueFull:
            self = Refusal("RequestThrottled", error.message, isSendersFault: false)
        case .readOnly, .storeMoved: self = Refusal("AccessDeniedException", error.message, status: .forbidden)
        case .busy, .closed, .timedOut, .outcomeUnknown, .unreachable, .diskFull:
            self = Refusal("ServiceUnavailable", error.message, status: .serviceUnavailable, isSendersFault: false)
        default:
            self = Refusal(
                "InternalFailure", "The store has failed; the server's log says how.", status: .internalServerError,
                isSendersFault: false)
        }
    }
}

extension HTTPField.Name {
    static let queryError = HTTPField.Name(known: "x-amzn-query-error")
    static let amazonDate = HTTPField.Name(known: "X-Amz-Date")
}
